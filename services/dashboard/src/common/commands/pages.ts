import type { Me } from '../session/session.ts';

/** A page that the palette and the keyboard open. */
interface PageEntry {
  readonly name: 'map' | 'video' | 'events' | 'vehicles' | 'profile' | (string & {});
  readonly path: string;
  /** Letter that opens the page after `g`. */
  readonly letter?: string;
  readonly permission?: Me['permissions'][number];
}

/** Pages in the order of the navigation. A page without a route in this build is left out. */
export const pages = [
  { name: 'map', path: '/map', letter: 'm' },
  { name: 'video', path: '/video', letter: 'v', permission: 'video' },
  { name: 'events', path: '/events', letter: 'e' },
  { name: 'vehicles', path: '/vehicles', letter: 'l' },
  { name: 'drivers', path: '/drivers' },
  { name: 'groups', path: '/groups', permission: 'fleet' },
  { name: 'geofences', path: '/geofences' },
  { name: 'routes', path: '/routes' },
  { name: 'media', path: '/media', permission: 'video' },
  { name: 'sharing', path: '/sharing', permission: 'sharing' },
  { name: 'devices', path: '/devices', permission: 'fleet' },
  { name: 'messages', path: '/messages', permission: 'fleet' },
  { name: 'support', path: '/support' },
  { name: 'profile', path: '/profile', letter: 'p' },
] as const satisfies readonly PageEntry[];

/** Returns whether the build has a route for a path. The last part of a route can be optional. */
export const hasRoute = (routesByPath: object, path: string): boolean =>
  Object.keys(routesByPath).some((pattern) => pattern === path || pattern.startsWith(`${path}/{-$`));

/** Returns whether the build has a route for one record of a list. */
export const hasRecordRoute = (routesByPath: object, folder: string): boolean =>
  Object.keys(routesByPath).some(
    (pattern) => /^\/(\$|\{-\$)\w+Id\b/.test(pattern.slice(folder.length)) && pattern.startsWith(folder),
  );

/** Returns the path that a letter after `g` opens. */
export const pathOfLetter = (letter: string): string | undefined =>
  pages.find((page) => 'letter' in page && page.letter === letter)?.path;
