import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '@fleet/service-kit';
import { readRoads } from './road-file.ts';
import { RoadNetwork } from './road-network.ts';

/** A file that could not be read may be there later, as on a volume that comes late. */
const retryMs = 60_000;

/** The roads of a file, read at first use; none without a file, nor for a while where it cannot be read. One that holds no roads is read again once it has changed. */
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
      log.error({ err: error, file }, 'the file of roads could not be read: routes are straight lines');
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
