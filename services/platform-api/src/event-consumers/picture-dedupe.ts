import type { Redis } from '@fleet/storage';

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

/** Within this time, all messages with one id of a terminal are about one picture. */
const samePictureWindowMs = 600_000;
/**
 * Time within which the file of an announced picture may arrive: from an area without network, or after a request by a
 * user.
 */
const fileTtlMs = 3 * 86_400_000;
/** Retention after the arrival of the file, in case the other message is late. */
const arrivedTtlMs = 3_600_000;

// KEYS 1 the id, 2 the key in which processes of the previous release store only the time of the first message. ARGV 1
// receive time, 2 'event' or 'file', 3 time of capture or '', then the three durations. The value is the time of the
// first message and, once the file has arrived, its receive time.
const script = `
local at, same = tonumber(ARGV[1]), tonumber(ARGV[4])
local told, come = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+):(%d*)$')
if not told then told, come = string.match(redis.call('GET', KEYS[2]) or '', '^%d+$'), '' end
local isSame = told and math.abs(at - tonumber(told)) <= same
if told and not isSame and ARGV[2] == 'file' then
  if come ~= '' then
    isSame = tonumber(come) == at
  else
    local isOlder = ARGV[3] == '' or tonumber(ARGV[3]) <= tonumber(told) + same
    isSame = at > tonumber(told) and at - tonumber(told) <= tonumber(ARGV[5]) and isOlder
  end
end
if not isSame then told, come = ARGV[1], '' end
if ARGV[2] == 'file' and come == '' then come = ARGV[1] end
redis.call('SET', KEYS[1], told .. ':' .. come, 'PX', come == '' and ARGV[5] or ARGV[6])
return told`;

/**
 * Returns when a picture was first announced, so that repeated messages create one notification. A picture may arrive
 * long after its announcement. A restarted terminal reuses ids; a reused id is a new picture.
 */
export async function firstSeenMs(
  redis: Redis,
  imei: string,
  { multimediaId, channel }: PictureId,
  sighting: PictureSighting,
): Promise<number> {
  const takenAtMs = sighting.by === 'file' ? (sighting.takenAtMs ?? '') : '';
  const values = [sighting.receivedAtMs, sighting.by, takenAtMs, samePictureWindowMs, fileTtlMs, arrivedTtlMs];
  const id = `${imei}:${multimediaId}:${channel}`;
  const keys = [`picture-told:${id}`, `media-told:${id}`];
  return Number(await redis.eval(script, { keys, arguments: values.map(String) }));
}
