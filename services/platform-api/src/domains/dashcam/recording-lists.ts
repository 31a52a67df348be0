import { dayMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';

/** A recording in a list of a camera. */
export interface RecordedSegment {
  readonly channel: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly isAlarm: boolean;
  readonly streamType: number;
  readonly memoryType: number;
  readonly sizeBytes: number;
}

/** A list that a camera returned: its channel (0 for all) and its time. */
interface RecordingList {
  readonly channel: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly listedAtMs: number;
}

/** What is known about one day (UTC): key `recordings:{<vehicle>:<terminal>}:<date>` in Redis. */
export interface StoredDay {
  readonly lists: readonly RecordingList[];
  readonly segments: readonly RecordedSegment[];
}

type Redis = Pick<Deps, 'redis'>['redis'];
type Owner = Pick<Vehicle, '_id' | 'imei'>;

/** Cameras overwrite their storage sooner. */
const expirySeconds = 31 * 86_400;
const maxListsPerDay = 50;

const toKey = ({ _id, imei }: Owner, dayNumber: number): string =>
  `recordings:{${_id}:${imei ?? ''}}:${new Date(dayNumber * dayMs).toISOString().slice(0, 10)}`;

const toDayNumber = (timeMs: number): number => Math.floor(timeMs / dayMs);

/** Returns the days that a span touches, and the day before: its last recording may reach into the span. */
function listDays({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): number[] {
  const first = toDayNumber(fromMs) - 1;
  return Array.from({ length: toDayNumber(toMs - 1) - first + 1 }, (_unused, index) => first + index);
}

const parseDay = (text: string | null): StoredDay =>
  text === null ? { lists: [], segments: [] } : (JSON.parse(text) as StoredDay);

/** Returns the stored lists of the days that a span touches. */
export async function readLists(
  redis: Redis,
  owner: Owner,
  span: { readonly fromMs: number; readonly toMs: number },
): Promise<StoredDay[]> {
  const texts = await redis.mGet(listDays(span).map((day) => toKey(owner, day)));
  return texts.map(parseDay);
}

/** Replaces the recordings of a list's channel and time by the ones that the camera has listed. */
export async function storeList(
  redis: Redis,
  owner: Owner,
  list: RecordingList,
  segments: readonly RecordedSegment[],
): Promise<void> {
  const isReplaced = ({ channel, fromMs, toMs }: RecordedSegment | RecordingList): boolean =>
    (list.channel === 0 || channel === list.channel) && toMs > list.fromMs && fromMs < list.toMs;
  for (const day of listDays(list)) {
    const before = parseDay(await redis.get(toKey(owner, day)));
    const isOfDay = toDayNumber(list.fromMs) <= day;
    const lists = before.lists.filter(
      (one) => !(isReplaced(one) && one.fromMs >= list.fromMs && one.toMs <= list.toMs),
    );
    const after: StoredDay = {
      lists: (isOfDay ? [...lists, list] : lists).slice(-maxListsPerDay),
      segments: [
        ...before.segments.filter((segment) => !isReplaced(segment)),
        ...segments.filter(({ fromMs }) => toDayNumber(fromMs) === day),
      ],
    };
    await redis.set(toKey(owner, day), JSON.stringify(after), { EX: expirySeconds });
  }
}
