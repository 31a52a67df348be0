import type { Redis } from '@fleet/storage';

/** The same picture, as far as its id says: 0x0800 and 0x0801 have one, which begins again with the terminal. */
interface PictureId {
  readonly multimediaId: number;
  readonly channel: number;
}

/** What tells of it: that it was taken (0x0800), or the picture itself (0x0801), which may say when that was. */
type Telling =
  | { readonly by: 'event'; readonly receivedAtMs: number }
  | { readonly by: 'file'; readonly receivedAtMs: number; readonly takenAtMs: number | null };

/** Within this time one id of a terminal is one picture, whatever tells of it. */
const samePictureMs = 600_000;
/** For so long a picture that was told of may come: from where there is no network, or when somebody has asked for it. */
const awaitedMs = 3 * 86_400_000;
/** What has come is known for so long, should the other message be late. */
const knownMs = 3_600_000;

// KEYS 1 the id, 2 where processes of before this keep when the picture was first told of, and no more. ARGV 1 when this was received, 2 'event' or 'file', 3 when the
// picture was taken or '', then the three times. The value is when the picture was first told of and, once it has come, when that was.
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
export async function firstToldMs(
  redis: Redis,
  imei: string,
  { multimediaId, channel }: PictureId,
  telling: Telling,
): Promise<number> {
  const takenAtMs = telling.by === 'file' ? (telling.takenAtMs ?? '') : '';
  const values = [telling.receivedAtMs, telling.by, takenAtMs, samePictureMs, awaitedMs, knownMs];
  const id = `${imei}:${multimediaId}:${channel}`;
  const keys = [`picture-told:${id}`, `media-told:${id}`];
  return Number(await redis.eval(script, { keys, arguments: values.map(String) }));
}
