import { type StreamId, streamKinds } from './stream-state.ts';

/** Returns the member of a stream in the sorted sets. */
export const streamMember = (id: StreamId): string => `${id.kind}:${id.imei}:${id.channel}`;
/** All keys of one terminal's streams are in one slot of a cluster. */
const toSuffix = (id: StreamId): string => `${id.kind}:{${id.imei}}:${id.channel}`;
export const streamKey = (id: StreamId): string => `stream:${toSuffix(id)}`;
export const requestKey = (id: StreamId): string => `stream-request:${toSuffix(id)}`;
/** Returns the claim of a stream that has just ended. */
export const endedKey = (id: StreamId): string => `stream-ended:${toSuffix(id)}`;

/*
 * The sorted sets are in other slots than the streams, so separate commands update them. They are indexes: the keys of
 * a stream decide. A member is added before the keys of its stream change, so that a crash between the two leaves a
 * member without effect, never a stream that no job finds. Jobs remove such members once they are due.
 */

/** Sorted set of the streams that wait for their first packet, by the end of that wait. */
export const dueKey = 'stream-requests:due';
/** Sorted set of the claimed streams by the expiry of their claims: a killed pod releases nothing. */
export const expiringKey = 'streams:expiring';

/** Sorted set of the streams that wait for another pod, by the time of the next attempt. */
export const movingKey = 'streams:moving';

/** Returns the stream of a member of the sorted sets. */
export function parseMember(member: string): StreamId {
  const [kind, imei = '', channel] = member.split(':');
  return { kind: streamKinds.find((each) => each === kind) ?? 'live', imei, channel: Number(channel) };
}

export const parseJson = (text: string | null | undefined): unknown =>
  text === null || text === undefined || text === '' ? null : JSON.parse(text);
