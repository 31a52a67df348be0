import { renewAccountStream } from './account-streams.ts';
import { takeDueMembers } from './due-members.ts';
import { readStream } from './read-streams.ts';
import type { Redis } from './redis.ts';
import { endedStreamTtlMs } from './stream-claims.ts';
import { dueKey, endedKey, expiringKey, movingKey, requestKey, streamKey, streamMember } from './stream-keys.ts';
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
  const member = streamMember(id);
  const nowMs = Date.now();
  const firstPacketDueMs = nowMs + moveTimeoutMs;
  // After a crash of this pod before its last command, the stream ends at this time.
  await redis.zAdd(dueKey, { score: firstPacketDueMs, value: member });
  const isReleased = await redis.eval(handOverScript, {
    keys: [streamKey(id), requestKey(id), endedKey(id)],
    arguments: [
      String(claim.generation),
      JSON.stringify({ ...request, firstPacketDueMs }),
      String(requestTtlMs),
      String(endedStreamTtlMs),
    ],
  });
  if (isReleased !== 1) return false;
  await Promise.all([
    redis.zAdd(movingKey, { score: nowMs, value: member }),
    redis.zRem(expiringKey, member),
    renewAccountStream(redis, request.accountId, id, moveTimeoutMs),
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
export const takeMovingStreams = (redis: Redis, nowMs = Date.now()): Promise<MovingStream[]> =>
  takeDueMembers(redis, movingKey, nowMs, async (id, member) => {
    const isTaken = await redis.eval(takeScript, {
      keys: [movingKey],
      arguments: [member, String(nowMs), String(nowMs + attemptTtlMs)],
    });
    if (isTaken !== 1) return undefined;
    const { claim, request } = await readStream(redis, id);
    if (claim === null && request?.move !== undefined) return { id, request };
    // The camera has connected by itself, or the stream was stopped.
    await completeMove(redis, id);
    return undefined;
  });

/** Ends the attempts to move a stream: its camera was commanded, or the stream has ended. */
export async function completeMove(redis: Redis, id: StreamId): Promise<void> {
  await redis.zRem(movingKey, streamMember(id));
}
