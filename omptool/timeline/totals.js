// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- totals: the rows of the tables ----

// Returns the region that an event is about: raw name of its kernel, or "" for none.
function regionOf(event) {
  const label = labels[labelOf[event]];
  if (label.entry) return label.entry;
  if (kindOf[event] === KIND.kernel) return label.name;
  return label.name === "target" ? regionOfConstruct.get(constructOf[event]) ?? "" : "";
}

// Returns what the table counts an event as: its region, the place of a construct, or its name.
function subjectOf(event) {
  const label = labels[labelOf[event]];
  const region = regionOf(event);
  if (region) return { name: region, short: shortOf.get(region) ?? region, kind: "region" };
  if (label.name === "fallback") return { name: label.reason || label.name, kind: "fallback" };
  if (isConstruct(event)) {
    const short = `${label.name} ${label.source.split("/").at(-1)}`.trim();
    return { name: `${label.name} ${label.source}`.trim(), short, kind: "construct" };
  }
  return { name: label.name, kind: tables.kinds[kindOf[event]] };
}

class Totals {
  #rows = new Map(); // by kind and name
  #known = new Map(); // rows by label and kind, where those decide

  row(event) {
    const key = labelOf[event] * tables.kinds.length + kindOf[event];
    const known = this.#known.get(key);
    if (known) return known;
    const row = this.#named(subjectOf(event));
    const label = labels[labelOf[event]];
    if (label.entry || label.name !== "target") this.#known.set(key, row);
    return row;
  }

  #named({ name, short = name, kind }) {
    const key = `${kind}\n${name}`;
    if (!this.#rows.has(key)) {
      const counts = { times: 0, kernels: 0, fallbacks: 0, device: 0, longest: 0, host: 0, bytes: 0 };
      this.#rows.set(key, { name, short, kind, ...counts });
    }
    return this.#rows.get(key);
  }

  add(event, isOnDevice) {
    const row = this.row(event);
    const kind = kindOf[event];
    const isInstantOfFallback = kind === KIND.fallback && !duration[event];
    if (isInstantOfFallback) row.fallbacks += 1;
    else if (row.kind === "region" && kind === KIND.kernel) row.kernels += 1;
    else row.times += 1;
    row[isOnDevice ? "device" : "host"] += duration[event];
    if (isOnDevice || row.kind !== "region") row.longest = Math.max(row.longest, duration[event]);
    if (kind !== KIND.mapping) row.bytes += bytesOf(event); // a mapping moves nothing
    if (TRANSFERS.has(kind)) this.#addToRegion(event);
  }

  // A region has the bytes that its constructs copied.
  #addToRegion(event) {
    const construct = constructEvent(event);
    const row = construct === undefined ? null : this.row(construct);
    if (row?.kind === "region") row.bytes += bytesOf(event);
  }

  rows() {
    for (const row of this.#rows.values()) {
      row.times ||= row.kernels || row.fallbacks; // a trace may lack its constructs
      const times = row.kind === "region" ? row.kernels : row.times;
      row.total = row.device + row.host;
      row.mean = times ? (row.kind === "region" ? row.device : row.device + row.host) / times : 0;
    }
    return [...this.#rows.values()].sort((one, other) => other.host - one.host);
  }
}

// Returns a row for each region, for each construct without a kernel, and for each kind of operation.
function entries() {
  const totals = new Totals();
  for (const { from, to, lane } of rows) {
    for (let event = from; event < to; ++event) totals.add(event, lane.device !== null);
  }
  return totals.rows();
}

// Returns a row for each device and direction.
function moved() {
  const found = new Map();
  for (const { from, to, lane } of rows) {
    for (let event = from; event < to; ++event) {
      if (!TRANSFERS.has(kindOf[event])) continue;
      const key = `${lane.process}\n${kindOf[event]}`;
      if (!found.has(key)) {
        found.set(key, { device: lane.process, what: tables.kinds[kindOf[event]], times: 0, bytes: 0, total: 0 });
      }
      const row = found.get(key);
      row.times += 1;
      row.bytes += bytesOf(event);
      row.total += duration[event];
    }
  }
  return [...found.values()];
}
