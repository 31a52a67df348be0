import { AppError } from '@fleet/service-kit';

/** Groups within groups at most, the outermost counted. */
export const maxDepth = 8;
const maxNameLength = 100;

/** What the shape of a tree is made of. */
export interface GroupNode {
  readonly _id: number;
  readonly parentGroup: number | null;
}

/** The groups of an account as a tree. A group whose parent is not there is a root; a cycle that should not be ends every walk. */
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

  /** All of them. */
  get nodes(): readonly T[] {
    return [...this.#nodes.values()];
  }

  has(id: number): boolean {
    return this.#nodes.has(id);
  }

  /** Null for a root. */
  parentOf({ parentGroup }: GroupNode): number | null {
    return parentGroup !== null && this.#nodes.has(parentGroup) ? parentGroup : null;
  }

  /** Direct children; of null the roots. */
  childrenOf(id: number | null): readonly T[] {
    return this.#children.get(id) ?? [];
  }

  /** The group and all below it, parents before children. */
  withBelow(id: number): T[] {
    const root = this.#nodes.get(id);
    const found = new Set(root === undefined ? [] : [root]);
    for (const node of found) for (const child of this.childrenOf(node._id)) found.add(child);
    return [...found];
  }

  /** The group and all above it, outermost last. */
  withAbove(id: number): T[] {
    const found = new Set<T>();
    let node = this.#nodes.get(id);
    while (node !== undefined && !found.has(node)) {
      found.add(node);
      node = node.parentGroup === null ? undefined : this.#nodes.get(node.parentGroup);
    }
    return [...found];
  }

  /** Levels from a group downwards, itself counted. */
  heightOf(id: number): number {
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

/** Refuses a place in the tree: below itself (409 `group_cycle`) or too deep (409 `group_depth`). `id` is null for a new group. */
export function checkPlace(tree: GroupTree, id: number | null, parent: number | null): void {
  if (parent === null) return;
  const above = tree.withAbove(parent);
  if (id !== null && above.some(({ _id }) => _id === id))
    throw new AppError('group_cycle', 'A group cannot be put into itself or into a group below it.', {
      details: [{ path: '/parent_group', message: 'is the group itself or below it' }],
    });
  if (above.length + (id === null ? 1 : tree.heightOf(id)) > maxDepth)
    throw new AppError('group_depth', `Groups can be ${maxDepth} levels deep at most.`, {
      details: [{ path: '/parent_group', message: `is too deep: ${maxDepth} levels at most` }],
    });
}

/** Parent and name of a group as one value that is unique in the account. */
export const siblingKey = (parent: number | null, name: string): string => `${parent ?? 0}/${name}`;

/** The name itself, or with ` (2)`, ` (3)` … where siblings have it. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let n = 2, free = name; ; n += 1) {
    if (!taken.has(free)) return free;
    const suffix = ` (${n})`;
    free = name.slice(0, maxNameLength - suffix.length) + suffix;
  }
}

/** Ids of a list whose items may be objects; each once. */
export const idsOf = (items: readonly (number | { readonly id: number })[]): number[] => [
  ...new Set(items.map((item) => (typeof item === 'number' ? item : item.id))),
];
