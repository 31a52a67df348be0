import { AppError } from '@fleet/service-kit';

/** Largest number of nested groups, including the outermost. */
const maxDepth = 8;
const maxNameLength = 100;

/** The fields that define the shape of a tree. */
interface GroupNode {
  readonly _id: number;
  readonly parentGroup: number | null;
}

/**
 * Represents the groups of an account as a tree. A group whose parent does not exist is a root. An invalid cycle ends
 * every traversal.
 */
export class GroupTree<T extends GroupNode = GroupNode> {
  readonly #nodes: ReadonlyMap<number, T>;
  readonly #children = new Map<number | null, T[]>();

  constructor(nodes: readonly T[]) {
    this.#nodes = new Map(nodes.map((node) => [node._id, node]));
    for (const node of nodes) {
      const parent = this.parentOf(node);
      const children = this.#children.get(parent);
      if (children === undefined) this.#children.set(parent, [node]);
      else children.push(node);
    }
  }

  /** All groups. */
  get nodes(): readonly T[] {
    return [...this.#nodes.values()];
  }

  has(id: number): boolean {
    return this.#nodes.has(id);
  }

  /** Returns the parent of a group, or null for a root. */
  parentOf({ parentGroup }: GroupNode): number | null {
    return parentGroup !== null && this.#nodes.has(parentGroup) ? parentGroup : null;
  }

  /** Returns the direct children of a group; for null, the roots. */
  childrenOf(id: number | null): readonly T[] {
    return this.#children.get(id) ?? [];
  }

  /** Returns the group and all below it, parents before children. */
  descendants(id: number): T[] {
    const root = this.#nodes.get(id);
    const found = new Set(root === undefined ? [] : [root]);
    for (const node of found) for (const child of this.childrenOf(node._id)) found.add(child);
    return [...found];
  }

  /** Returns the group and all above it, outermost last. */
  ancestors(id: number): T[] {
    const found = new Set<T>();
    let node = this.#nodes.get(id);
    while (node !== undefined && !found.has(node)) {
      found.add(node);
      node = node.parentGroup === null ? undefined : this.#nodes.get(node.parentGroup);
    }
    return [...found];
  }

  /** Returns the number of levels from a group downwards, including itself. */
  height(id: number): number {
    let height = 0;
    const seen = new Set<number>();
    let level = this.has(id) ? [id] : [];
    while (level.length > 0) {
      height += 1;
      for (const each of level) seen.add(each);
      level = level.flatMap((each) => this.childrenOf(each).map(({ _id }) => _id)).filter((each) => !seen.has(each));
    }
    return height;
  }
}

/**
 * Throws if a group would be inside itself (409 `group_cycle`) or too deep (409 `group_depth`). `id` is null for a new
 * group.
 */
export function assertValidParent(tree: GroupTree, id: number | null, parent: number | null): void {
  if (parent === null) return;
  const above = tree.ancestors(parent);
  if (id !== null && above.some(({ _id }) => _id === id))
    throw new AppError('group_cycle', 'A group cannot be moved into itself or into a group below it.', {
      details: [{ path: '/parent_group', message: 'is the group itself or a group below it' }],
    });
  if (above.length + (id === null ? 1 : tree.height(id)) > maxDepth)
    throw new AppError('group_depth', `Groups can be nested at most ${maxDepth} levels deep.`, {
      details: [{ path: '/parent_group', message: `is too deep: at most ${maxDepth} levels are allowed` }],
    });
}

/** Returns parent and name of a group as one value that is unique in the account. */
export const siblingKey = (parent: number | null, name: string): string => `${parent ?? 0}/${name}`;

/** Returns the name, with ` (2)`, ` (3)` … if a sibling has it. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  for (let n = 2, free = name; ; n += 1) {
    if (!taken.has(free)) return free;
    const suffix = ` (${n})`;
    free = name.slice(0, maxNameLength - suffix.length) + suffix;
  }
}

/** Returns the ids of a list whose items may be objects, without duplicates. */
export const idsOf = (items: readonly (number | { readonly id: number })[]): number[] => [
  ...new Set(items.map((item) => (typeof item === 'number' ? item : item.id))),
];
