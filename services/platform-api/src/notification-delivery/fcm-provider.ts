import { type DeliverySettings, parseServiceAccount } from './delivery-settings.ts';
import { GoogleAccessToken } from './google-access-token.ts';
import {
  PermanentSendError,
  ProviderClient,
  type ProviderClientOptions,
  parseJson,
  TransientSendError,
} from './provider-client.ts';
import type { PushMessage, PushProvider, PushResult } from './providers.ts';

/** Sends through Firebase Cloud Messaging, HTTP v1. */
export class FcmProvider implements PushProvider {
  readonly name = 'fcm';
  readonly #url: string;
  readonly #client: ProviderClient;
  readonly #tokenClient: ProviderClient;
  readonly #token: GoogleAccessToken;

  constructor(
    settings: Pick<DeliverySettings, 'FCM_URL'> & { readonly FCM_SERVICE_ACCOUNT: string },
    options: ProviderClientOptions & { readonly now?: () => number } = {},
  ) {
    const account = parseServiceAccount(settings.FCM_SERVICE_ACCOUNT);
    this.#url = `${settings.FCM_URL}/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`;
    this.#client = new ProviderClient('Firebase', options);
    this.#tokenClient = new ProviderClient("Google's token endpoint", options);
    this.#token = new GoogleAccessToken(account, this.#tokenClient, options.now);
  }

  async send(message: PushMessage): Promise<PushResult> {
    const body = JSON.stringify({ message: toFcmMessage(message) });
    // A rejected token that should be valid was revoked: one more is requested.
    for (const isLast of [false, true]) {
      const token = await this.#token.get();
      const { status, text } = await this.#client.post({
        url: this.#url,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json; charset=utf-8' },
        body,
      });
      if (status === 200) return 'sent';
      if (status === 401) this.#token.invalidate(token);
      if (status === 401 && !isLast) continue;
      return this.#handleRejection(status, text);
    }
    throw new TransientSendError('Firebase rejects the access token');
  }

  stop(): void {
    this.#client.stop();
    this.#tokenClient.stop();
  }

  #handleRejection(status: number, text: string): PushResult {
    if (isUnregisteredToken(status, parseJson(text))) return 'unregistered';
    // The operator must correct it: the message waits.
    if (status === 401 || status === 403) throw new TransientSendError(`Firebase returned ${status}`);
    throw new PermanentSendError(`Firebase returned ${status}`);
  }
}

interface FcmError {
  readonly error?: {
    readonly message?: string;
    readonly details?: readonly {
      readonly errorCode?: string;
      readonly fieldViolations?: readonly { readonly field?: string }[];
    }[];
  };
}

// The device or its token is unknown to this project: no message can be delivered.
function isUnregisteredToken(status: number, response: unknown): boolean {
  const { error } = (typeof response === 'object' && response !== null ? response : {}) as FcmError;
  const details = error?.details ?? [];
  const has = (code: string): boolean => details.some(({ errorCode }) => errorCode === code);
  if (status === 404) return has('UNREGISTERED');
  if (status === 403) return has('SENDER_ID_MISMATCH');
  const names = details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
  return status === 400 && (names.includes('message.token') || /registration token/i.test(error?.message ?? ''));
}

// `message` of `messages:send`: high priority; a later one of the same vehicle and type replaces a pending one.
const toFcmMessage = ({ token, title, body, collapseKey, data }: PushMessage) => ({
  token,
  notification: { title, body },
  data,
  android: { priority: 'HIGH', collapse_key: collapseKey },
  apns: {
    headers: { 'apns-priority': '10', 'apns-collapse-id': collapseKey.slice(0, 64) },
    payload: { aps: { sound: 'default' } },
  },
  webpush: { headers: { Urgency: 'high' } },
});
