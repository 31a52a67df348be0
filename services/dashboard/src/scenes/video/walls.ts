import { useMutation, useQueryClient } from '@tanstack/react-query';
import { usePreferences } from '../../common/format/preferences-context.ts';
import { useSession } from '../../common/session/session-context.ts';
import { type Layout, layouts } from './search.ts';

/** A saved wall. */
export interface Wall {
  readonly name: string;
  readonly layout: Layout;
  /** As in the address. */
  readonly tiles: string;
}

const isWall = (value: unknown): value is Wall => {
  const { name, layout, tiles } = (value ?? {}) as Partial<Record<keyof Wall, unknown>>;
  return typeof name === 'string' && layouts.includes(layout as Layout) && typeof tiles === 'string';
};

/** Returns the saved walls of the preferences; skips what is none. */
const parseWalls = (value: unknown): Wall[] => (Array.isArray(value) ? value.filter(isWall) : []);

/** Returns the walls with one more, or with another content of the wall of that name. Sorts them by name. */
export const withWall = (walls: readonly Wall[], wall: Wall): Wall[] =>
  [...walls.filter(({ name }) => name !== wall.name), wall].toSorted((a, b) => a.name.localeCompare(b.name));

export const withoutWall = (walls: readonly Wall[], name: string): Wall[] => walls.filter((wall) => wall.name !== name);

/** Returns the saved walls of the user, and the mutation that replaces them. */
export function useWalls() {
  const { api } = useSession();
  const queries = useQueryClient();
  const preferences = usePreferences();
  const save = useMutation({
    mutationFn: (walls: readonly Wall[]) =>
      // Other pages keep their own values there.
      api.PUT('/api/user-preferences/me', { body: { dashboard: { ...preferences?.dashboard, walls } } as never }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getPreferences'] }),
  });
  return { walls: parseWalls(preferences?.dashboard['walls']), isLoaded: preferences !== undefined, save };
}
