import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './service-settings.ts';

/** Returns the variables that the image of every service sets. */
export function readImageEnvironment(): Record<string, string> {
  const lines = readFileSync(join(root, 'deploy', 'Dockerfile'), 'utf8').matchAll(/^ENV (.*)$/gm);
  const pairs = [...lines].flatMap(([, text = '']) => text.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=', 2)));
}
