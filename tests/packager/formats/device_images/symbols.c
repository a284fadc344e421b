/* Symbols of every kind: tables, hidden, undefined, static. */
struct mixed { char c; double d; short s[3]; };
struct mixed table[5];
int *pointer;
static int hidden_away;
extern int elsewhere;
extern int called(int);
static int local(int x) { return called(x) + hidden_away++; }
__attribute__((visibility("hidden"))) int invisible(int x) { return local(x); }
int seen(int x) { return invisible(x) + elsewhere + (int)table[x].d; }
