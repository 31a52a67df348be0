import { type FleetQuery, normalizeText } from './fleet-query.ts';
import type { FleetTable } from './fleet-table.ts';
import { criticalSeverity, type FleetView, vehicleStates } from './protocol.ts';

/** Order of the states in the list, by their numbers; those that need attention come first. */
const alarmRank = -1;

/** Keeps the ranks of the names, which are sorted again only after names have changed. */
export class FleetViewBuilder {
  readonly #table: FleetTable;
  readonly #collator = new Intl.Collator(undefined, { numeric: true });
  #nameRanks = new Int32Array(0);
  #textVersion = -1;

  constructor(table: FleetTable) {
    this.#table = table;
  }

  /** Returns the list of a query, and the slots that match it. */
  build(query: FleetQuery): { view: FleetView; matched: Uint8Array<ArrayBuffer> } {
    this.#updateNameRanks();
    const { columns, size } = this.#table;
    const isCandidate = createCandidateFilter(this.#table, query);
    const counts = new Int32Array(vehicleStates.length + 1);
    const matched = new Uint8Array(columns.capacity);
    const slots: number[] = [];
    for (let slot = 0; slot < columns.length; slot += 1) {
      if (!columns.isPresent(slot) || !isCandidate(slot)) continue;
      const state = columns.state[slot] ?? 0;
      const hasAlarm = columns.severity[slot] === criticalSeverity;
      counts[state] = (counts[state] ?? 0) + 1;
      if (hasAlarm) counts[vehicleStates.length] = (counts[vehicleStates.length] ?? 0) + 1;
      if (query.state !== undefined && (query.state === 'alarm' ? !hasAlarm : vehicleStates[state] !== query.state))
        continue;
      matched[slot] = 1;
      slots.push(slot);
    }
    this.#sort(slots, query);
    const { rows, groupCounts } = toRows(this.#table, slots, query);
    return { view: { rows, groupCounts, counts, matchedCount: slots.length, totalCount: size }, matched };
  }

  #updateNameRanks(): void {
    const { texts, textVersion, columns } = this.#table;
    if (this.#textVersion === textVersion) return;
    this.#textVersion = textVersion;
    this.#nameRanks = new Int32Array(columns.length);
    const known = texts.filter((text) => text !== undefined);
    known.sort((a, b) => this.#collator.compare(a.vehicleNo, b.vehicleNo) || a.id - b.id);
    known.forEach(({ slot }, rank) => {
      this.#nameRanks[slot] = rank;
    });
  }

  #sort(slots: number[], { sort }: FleetQuery): void {
    const { columns } = this.#table;
    const ranks = this.#nameRanks;
    const byName = (a: number, b: number): number => (ranks[a] ?? 0) - (ranks[b] ?? 0);
    const stateRank = (slot: number): number =>
      columns.severity[slot] === criticalSeverity ? alarmRank : (columns.state[slot] ?? 0);
    if (sort === 'name') slots.sort(byName);
    else if (sort === 'age') slots.sort((a, b) => (columns.timeMs[b] ?? 0) - (columns.timeMs[a] ?? 0) || byName(a, b));
    else slots.sort((a, b) => stateRank(a) - stateRank(b) || byName(a, b));
  }
}

/** Returns whether the vehicle of a slot matches text and group. */
function createCandidateFilter(
  { texts, searchTexts }: FleetTable,
  { text = '', groupId, groups }: FleetQuery,
): (slot: number) => boolean {
  const wanted = normalizeText(text);
  const groupIds = groupId === undefined ? null : findBelow(groups, groupId);
  return (slot) => {
    if (wanted !== '' && searchTexts[slot]?.includes(wanted) !== true) return false;
    return groupIds === null || texts[slot]?.groupIds.some((id) => groupIds.has(id)) === true;
  };
}

/** Returns a group and all groups below it. Parents come before their children. */
function findBelow(groups: FleetQuery['groups'], groupId: number): ReadonlySet<number> {
  const found = new Set([groupId]);
  for (const { id, parentId } of groups) if (parentId !== null && found.has(parentId)) found.add(id);
  return found;
}

/** Returns the folders with their vehicles, and then the vehicles without a folder. */
function toRows(
  { texts }: FleetTable,
  slots: readonly number[],
  { groups, collapsedIds }: FleetQuery,
): Pick<FleetView, 'rows' | 'groupCounts'> {
  if (groups.length === 0)
    return { rows: Int32Array.from(slots.flatMap((slot) => [slot, 0])), groupCounts: new Int32Array(0) };
  const members = new Map<number, number[]>(groups.map(({ id }) => [id, []]));
  const ungrouped: number[] = [];
  for (const slot of slots) {
    const own = (texts[slot]?.groupIds ?? []).filter((id) => members.has(id));
    if (own.length === 0) ungrouped.push(slot);
    for (const id of own) members.get(id)?.push(slot);
  }
  const subtrees = findSubtrees(groups, members);
  const rows: number[] = [];
  const hidden = new Set<number>();
  for (const { id, parentId, depth } of groups) {
    const isHidden = parentId !== null && (hidden.has(parentId) || collapsedIds.includes(parentId));
    if (isHidden) hidden.add(id);
    if (isHidden || subtrees.get(id)?.size === 0) continue;
    rows.push(-id, depth);
    if (!collapsedIds.includes(id)) for (const slot of members.get(id) ?? []) rows.push(slot, depth + 1);
  }
  for (const slot of ungrouped) rows.push(slot, 0);
  const groupCounts = [...subtrees].flatMap(([id, found]) => [id, found.size]);
  return { rows: Int32Array.from(rows), groupCounts: Int32Array.from(groupCounts) };
}

/** Returns the vehicles of each group and of those below; a vehicle in several of them counts once. */
function findSubtrees(
  groups: FleetQuery['groups'],
  members: ReadonlyMap<number, readonly number[]>,
): Map<number, Set<number>> {
  const subtrees = new Map(groups.map(({ id }) => [id, new Set(members.get(id))]));
  for (const { id, parentId } of groups.toReversed()) {
    const parent = parentId === null ? undefined : subtrees.get(parentId);
    for (const slot of subtrees.get(id) ?? []) parent?.add(slot);
  }
  return subtrees;
}
