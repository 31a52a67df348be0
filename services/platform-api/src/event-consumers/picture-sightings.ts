import { dayMs, hourMs } from '@fleet/service-kit';
import { compareAndSet, type Redis } from '@fleet/storage';

/** Identifies a picture in 0x0800 and 0x0801. A restarted terminal starts again with its first id. */
interface PictureId {
  readonly multimediaId: number;
  readonly channel: number;
}

/**
 * A message about a picture: the event of its capture (0x0800), or the file itself (0x0801), which may include the time
 * of capture.
 */
type PictureSighting =
  | { readonly by: 'event'; readonly receivedAtMs: number }
  | { readonly by: 'file'; readonly receivedAtMs: number; readonly takenAtMs: number | null };

/** The newest picture with an id; JSON in Redis under `picture:<canonical number>:<id>:<channel>`. */
interface PictureRecord {
  readonly firstSeenMs: number;
  /** Receive time of the file, once it has arrived. */
  readonly arrivedMs?: number;
}

/** Within this time, all messages with one id of a terminal are about one picture. */
const samePictureWindowMs = 600_000;
/**
 * Time within which the file of an announced picture may arrive: from an area without network, or after a request by a
 * user.
 */
const fileTtlMs = 3 * dayMs;
/** Retention after the arrival of the file, in case the other message is late. */
const arrivedTtlMs = hourMs;

/**
 * Records a message about a picture and returns when the picture was first announced, so that repeated messages create
 * one notification. A picture may arrive long after its announcement. A restarted terminal reuses ids; a reused id is a
 * new picture.
 */
export async function recordPictureSighting(
  redis: Redis,
  imei: string,
  { multimediaId, channel }: PictureId,
  sighting: PictureSighting,
): Promise<number> {
  const id = `${imei}:${multimediaId}:${channel}`;
  for (;;) {
    const expected = await redis.get(`picture:${id}`);
    const known = expected === null ? await findFormer(redis, id) : (JSON.parse(expected) as PictureRecord);
    const picture = applySighting(known, sighting);
    const ttlMs = picture.arrivedMs === undefined ? fileTtlMs : arrivedTtlMs;
    // Otherwise another replica has recorded a message about the same picture.
    if (await compareAndSet(redis, `picture:${id}`, { expected, value: JSON.stringify(picture), ttlMs }))
      return picture.firstSeenMs;
  }
}

/** Returns the picture that a process of the previous release recorded: it stores only the time of the first message. */
async function findFormer(redis: Redis, id: string): Promise<PictureRecord | null> {
  const text = await redis.get(`media-told:${id}`);
  return text === null ? null : { firstSeenMs: Number(text) };
}

function applySighting(known: PictureRecord | null, sighting: PictureSighting): PictureRecord {
  const picture = known !== null && isSamePicture(known, sighting) ? known : { firstSeenMs: sighting.receivedAtMs };
  return sighting.by === 'file' ? { arrivedMs: sighting.receivedAtMs, ...picture } : picture;
}

function isSamePicture({ firstSeenMs, arrivedMs }: PictureRecord, sighting: PictureSighting): boolean {
  const sinceMs = sighting.receivedAtMs - firstSeenMs;
  if (Math.abs(sinceMs) <= samePictureWindowMs) return true;
  if (sighting.by === 'event') return false;
  // Either this event is repeated, or it is the file of a picture that was not announced.
  if (arrivedMs !== undefined) return arrivedMs === sighting.receivedAtMs;
  const { takenAtMs } = sighting;
  const isTakenBefore = takenAtMs === null || takenAtMs <= firstSeenMs + samePictureWindowMs;
  return sinceMs > 0 && sinceMs <= fileTtlMs && isTakenBefore;
}
