import { type StreamId, streamKinds } from './stream-state.ts';

export const streamSuffix = (id: StreamId): string => `${id.kind}:${id.imei}:${id.channel}`;
export const streamKey = (id: StreamId): string => `stream:${streamSuffix(id)}`;
export const requestKey = (id: StreamId): string => `stream-request:${streamSuffix(id)}`;
/** Returns the claim of a stream that has just ended. */
export const endedKey = (id: StreamId): string => `stream-ended:${streamSuffix(id)}`;
/** Sorted set of the streams that wait for their first packet, by the end of that wait. */
export const dueKey = 'stream-requests:due';
/** Sorted set of the claimed streams by the expiry of their claims: a killed pod releases nothing. */
export const expiringKey = 'streams:expiring';

/** Sorted set of the streams that wait for another pod, by the time of the next attempt. */
export const movingKey = 'streams:moving';

/** Returns the set of the streams of an account; those that have ended since are removed when the set is counted. */
export const accountKey = (accountId: number): string => `streams:account:${accountId}`;

/** Returns the stream of a key suffix. */
export function parseSuffix(member: string): StreamId {
  const [kind, imei = '', channel] = member.split(':');
  return { kind: streamKinds.find((each) => each === kind) ?? 'live', imei, channel: Number(channel) };
}

export const parseJson = (text: string | null | undefined): unknown =>
  text === null || text === undefined || text === '' ? null : JSON.parse(text);
