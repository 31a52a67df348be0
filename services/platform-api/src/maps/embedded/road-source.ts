import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '@fleet/service-kit';
import { readRoads } from './road-file.ts';
import { RoadNetwork } from './road-network.ts';

/** Delay before a file is read again, which may appear later, as on a volume that is mounted late. */
const retryMs = 60_000;

/**
 * Returns a loader of the roads of a file, which reads them on first use. It returns no roads without a file, and for a
 * while after a failed read. An invalid file is read again only after it has changed.
 */
export function roadsOf(
  file: string | undefined,
  log: Pick<Logger, 'error'>,
  retryAfterMs = retryMs,
): () => Promise<RoadNetwork> {
  let loading: Promise<RoadNetwork> | undefined;
  let failedAtMs: number | undefined;
  let broken: string | undefined;
  const load = async (): Promise<RoadNetwork> => {
    if (file === undefined) return new RoadNetwork([]);
    let seen: string | undefined;
    try {
      const { mtimeMs, size } = await stat(file);
      const now = `${mtimeMs} ${size}`;
      if (now !== broken) {
        const text = await readFile(file, 'utf8');
        seen = now;
        return await RoadNetwork.build(readRoads(text));
      }
    } catch (error) {
      log.error({ err: error, file }, 'could not read the road file, routes are straight lines');
      broken = seen;
    }
    failedAtMs = performance.now();
    return new RoadNetwork([]);
  };
  return () => {
    if (failedAtMs !== undefined && performance.now() - failedAtMs >= retryAfterMs)
      [loading, failedAtMs] = [undefined, undefined];
    return (loading ??= load());
  };
}
