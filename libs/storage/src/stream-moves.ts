import { readStream } from './read-streams.ts';
import type { Redis } from './redis.ts';
import { endedStreamTtlMs } from './stream-claims.ts';
import {
  dueKey,
  endedKey,
  expiringKey,
  movingKey,
  parseSuffix,
  requestKey,
  streamKey,
  streamSuffix,
} from './stream-keys.ts';
import type { StreamClaim, StreamId, StreamRequest } from './stream-state.ts';

/** A moving stream ends if no camera has connected to another pod within this time. */
export const moveTimeoutMs = 45_000;
/** The request outlives the wait a little, for the job that ends it. */
const requestTtlMs = moveTimeoutMs + 15_000;
/** A pod that has not sent its command by then has failed, and another one tries. */
const attemptTtlMs = 15_000;

// KEYS 1 stream, 2 request, 3 ended stream. ARGV 1 generation, 2 request, 3 ttl of the request, 4 ttl of the ended stream.
const handOverScript = `
local current = redis.call('GET', KEYS[1])
if not current or cjson.decode(current).generation ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[3], current, 'PX', ARGV[4])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return redis.call('DEL', KEYS[1])`;

/**
 * Replaces the claim of a stopping pod by a request, so that another pod accepts the camera and viewers wait for it.
 * Returns false if another pod owns the stream already.
 */
export async function handOverStream(
  redis: Redis,
  id: StreamId,
  claim: StreamClaim,
  request: StreamRequest,
): Promise<boolean> {
  const member = streamSuffix(id);
  const isReleased = await redis.eval(handOverScript, {
    keys: [streamKey(id), requestKey(id), endedKey(id)],
    arguments: [String(claim.generation), JSON.stringify(request), String(requestTtlMs), String(endedStreamTtlMs)],
  });
  if (isReleased !== 1) return false;
  const nowMs = Date.now();
  await Promise.all([
    redis.zRem(expiringKey, member),
    redis.zAdd(dueKey, { score: nowMs + moveTimeoutMs, value: member }),
    redis.zAdd(movingKey, { score: nowMs, value: member }),
  ]);
  return true;
}

// KEYS 1 moving. ARGV 1 member, 2 now, 3 time of the next attempt.
const takeScript = `
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) > tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1`;

/** A stream that waits for its camera on another pod. */
export interface MovingStream {
  readonly id: StreamId;
  readonly request: StreamRequest;
}

/**
 * Returns the moving streams whose camera has to be commanded now, each to one caller. Call `completeMove` after the
 * command; without it another caller gets the stream later.
 */
export async function takeMovingStreams(redis: Redis, nowMs = Date.now()): Promise<MovingStream[]> {
  const members = await redis.zRangeByScore(movingKey, 0, nowMs, { LIMIT: { offset: 0, count: 100 } });
  const taken: MovingStream[] = [];
  for (const member of members) {
    const isTaken = await redis.eval(takeScript, {
      keys: [movingKey],
      arguments: [member, String(nowMs), String(nowMs + attemptTtlMs)],
    });
    if (isTaken !== 1) continue;
    const id = parseSuffix(member);
    const { claim, request } = await readStream(redis, id);
    // The camera has connected by itself, or the stream was stopped.
    if (claim !== null || request?.move === undefined) await completeMove(redis, id);
    else taken.push({ id, request });
  }
  return taken;
}

/** Ends the attempts to move a stream: its camera was commanded, or the stream has ended. */
export async function completeMove(redis: Redis, id: StreamId): Promise<void> {
  await redis.zRem(movingKey, streamSuffix(id));
}
