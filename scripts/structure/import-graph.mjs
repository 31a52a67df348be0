// The rooms of a package and the imports between them. Type imports are erased by the compiler and do not count.
import { dirname, join } from 'node:path';
import { byName, roomOf } from './source-files.mjs';

const relativeImport = /^(?:import|export)\s+(?!type\b)([^;'"]*?)from\s+['"](\.[^'"]+)['"]/gm;

function importsOnlyTypes(clause) {
  const names = /^\{([^}]*)\}\s*$/.exec(clause.trim())?.[1]?.split(',') ?? [];
  return names.some((name) => name.trim() !== '') && names.every((name) => /^\s*(?:type\s|$)/.test(name));
}

/** Returns the paths that a file imports by value. */
function importedPaths({ path, text }) {
  return [...text.matchAll(relativeImport)]
    .filter(([, clause]) => !importsOnlyTypes(clause))
    .map(([, , target]) => join(dirname(path), target).replace(/\.js$/, '.ts'));
}

/** Returns the imports between rooms as a map from each room to the rooms that it imports. */
export function buildRoomGraph(files) {
  const graph = new Map(files.map(({ path }) => [roomOf(path), new Set()]));
  for (const file of files) {
    for (const target of importedPaths(file)) {
      const [from, to] = [roomOf(file.path), roomOf(target)];
      if (from !== to && graph.has(to)) graph.get(from).add(to);
    }
  }
  return graph;
}

/** Returns all rooms that a room imports, directly or through others. */
function reachableFrom(graph, start) {
  const seen = new Set();
  const pending = [start];
  while (pending.length > 0) {
    for (const next of graph.get(pending.pop())) {
      if (!seen.has(next)) pending.push(next);
      seen.add(next);
    }
  }
  return seen;
}

/** Returns the groups of two or more rooms that import each other in a circle, largest first. */
export function findCycles(graph) {
  const reachable = new Map([...graph.keys()].map((room) => [room, reachableFrom(graph, room)]));
  const cycles = new Map();
  for (const room of graph.keys()) {
    const cycle = [...reachable.get(room)].filter((other) => reachable.get(other).has(room));
    if (cycle.length > 1) cycles.set(cycle.toSorted(byName).join(' '), cycle);
  }
  return [...cycles.values()].toSorted((a, b) => b.length - a.length);
}

const countWithin = (rooms, others) => [...rooms].filter((room) => others.has(room)).length;

/** Returns the rooms in an order with few arrows to a later room: the method of Eades, Lin and Smyth. */
function orderRooms(graph) {
  const rest = new Set([...graph.keys()].toSorted(byName));
  const importers = new Map([...rest].map((room) => [room, [...rest].filter((other) => graph.get(other).has(room))]));
  const outgoing = (room) => countWithin(graph.get(room), rest);
  const incoming = (room) => countWithin(importers.get(room), rest);
  const bottom = [];
  const top = [];
  while (rest.size > 0) {
    const rooms = [...rest];
    const sink = rooms.find((room) => outgoing(room) === 0);
    const source = sink ?? rooms.find((room) => incoming(room) === 0);
    const next =
      source ?? rooms.reduce((a, b) => (outgoing(b) - incoming(b) > outgoing(a) - incoming(a) ? b : a), rooms[0]);
    if (sink !== undefined) bottom.push(next);
    else top.unshift(next);
    rest.delete(next);
  }
  return [...bottom, ...top];
}

/** Returns the arrows from a lower room to a higher one, with the rooms in their best order. */
export function findUpwardArrows(graph) {
  const level = new Map(orderRooms(graph).map((room, index) => [room, index]));
  return [...graph].flatMap(([from, targets]) =>
    [...targets].filter((to) => level.get(to) > level.get(from)).map((to) => `${from} -> ${to}`),
  );
}

/** Returns the number of arrows between rooms. */
export const countArrows = (graph) => [...graph.values()].reduce((sum, targets) => sum + targets.size, 0);
