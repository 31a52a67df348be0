import { terminalKey } from '@fleet/jt808';
import { createTalkUrl, type StreamUrlDeps, type StreamUser } from '../video-access/stream-urls.ts';

type Data = Readonly<Record<string, unknown>>;

/** Returns the data of a stream event with other addresses. */
export type StreamUrlsOf = (data: Data) => Data;

/** Fields of a stream event that contain addresses. */
const addressFields = ['stream_url', 'ws_flv_url', 'hls_url'] as const;

const mapAddresses = (data: Data, map: (address: string) => string | null): Data =>
  Object.fromEntries(
    addressFields.map((name) => {
      const address = data[name];
      return [name, typeof address === 'string' ? map(address) : null];
    }),
  );

/** Returns the data of a stream event without addresses. */
export const withoutStreamUrls: StreamUrlsOf = (data) => ({
  ...data,
  ...mapAddresses(data, () => null),
  talk_url: null,
  token_expires_at: null,
});

/** Returns a function that adds a user's token to the addresses of stream events. */
export const streamUrlSigner =
  (deps: StreamUrlDeps, user: StreamUser, { mayTalk }: { readonly mayTalk: boolean }): StreamUrlsOf =>
  (data) => {
    // Each viewer of a recording has the addresses of a request.
    if (data['kind'] === 'history') return withoutStreamUrls(data);
    const imei = terminalKey(String(data['imei']));
    if (imei === null) return withoutStreamUrls(data);
    const { accountId, userId, sessionId, mintedByKeyId, keyId } = user;
    const caller = { kind: 'user', accountId, userId, sessionId, mintedByKeyId, keyId } as const;
    const grant = { imei, channel: Number(data['channel_id']), kind: 'live', caller } as const;
    const { token, expiresAt } = deps.streamTokens.issue(grant);
    return {
      ...data,
      ...mapAddresses(data, (address) => `${address}?token=${token}`),
      talk_url: mayTalk ? createTalkUrl(deps, user, grant) : null,
      token_expires_at: expiresAt.toISOString(),
    };
  };
