import { readFile } from 'node:fs/promises';
import type { Logger } from '@fleet/service-kit';
import { readRoads } from './road-file.ts';
import { RoadNetwork } from './road-network.ts';

/** A file that could not be read may be there later, as on a volume that comes late. */
const retryMs = 60_000;

/** The roads of a file, read at first use; none without a file, nor for a while where it can not be read. */
export function roadsOf(
  file: string | undefined,
  log: Pick<Logger, 'error'>,
  retryAfterMs = retryMs,
): () => Promise<RoadNetwork> {
  let loading: Promise<RoadNetwork> | undefined;
  let failedAtMs: number | undefined;
  const load = async (): Promise<RoadNetwork> => {
    if (file === undefined) return new RoadNetwork([]);
    try {
      return await RoadNetwork.build(readRoads(await readFile(file, 'utf8')));
    } catch (error) {
      log.error({ err: error, file }, 'the file of roads could not be read: routes are straight lines');
      failedAtMs = performance.now();
      return new RoadNetwork([]);
    }
  };
  return () => {
    if (failedAtMs !== undefined && performance.now() - failedAtMs >= retryAfterMs)
      [loading, failedAtMs] = [undefined, undefined];
    return (loading ??= load());
  };
}
