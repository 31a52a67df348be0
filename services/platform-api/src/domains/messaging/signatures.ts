import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { Config } from '../../assembly/config.ts';
import type { Provider } from './schema.ts';

/** Request with the parts that its provider has signed. */
export interface SignedRequest {
  /** URL that the provider requested, with its query. */
  readonly url: string;
  readonly getHeader: (name: string) => string | undefined;
  readonly rawBody: Buffer;
  readonly isForm: boolean;
}

/** Settings that contain the secrets of the providers. */
export type ProviderSecrets = Pick<
  Config,
  'CHAT_GENERIC_SECRET' | 'TWILIO_AUTH_TOKEN' | 'PLIVO_AUTH_TOKEN' | 'VONAGE_SIGNATURE_SECRET' | 'VAPI_SECRET'
>;

const maxAgeSeconds = 300;

/** Compares in constant time; only a difference in length is detectable. */
function isEqual(actual: string | undefined, expected: string): boolean {
  if (actual === undefined) return false;
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const hmac = (algorithm: 'sha1' | 'sha256', secret: string, data: string | Buffer, form: 'base64' | 'hex'): string =>
  createHmac(algorithm, secret).update(data).digest(form);

/** Returns the fields of a form, sorted by name and then by value. */
const sortedForm = (parameters: URLSearchParams): (readonly [string, string])[] =>
  [...new Set(parameters.keys())].toSorted(compareText).flatMap((name) =>
    parameters
      .getAll(name)
      .toSorted(compareText)
      .map((value) => [name, value] as const),
  );

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const parseForm = ({ isForm, rawBody }: SignedRequest): URLSearchParams =>
  new URLSearchParams(isForm ? rawBody.toString() : '');

const joinForm = (parameters: readonly (readonly [string, string])[]): string =>
  parameters.map(([name, value]) => name + value).join('');

/** Verifies HMAC-SHA1 over the URL and the sorted fields of the form. JSON is identified by its hash in the URL. */
function isFromTwilio(request: SignedRequest, secret: string): boolean {
  const bodyHash = new URL(request.url).searchParams.get('bodySHA256');
  if (bodyHash !== null) {
    if (!isEqual(bodyHash.toLowerCase(), createHash('sha256').update(request.rawBody).digest('hex'))) return false;
  } else if (!request.isForm && request.rawBody.length > 0) return false;
  // A value that occurs twice under its name is signed once.
  const form = [...new Set(sortedForm(parseForm(request)).map((pair) => joinForm([pair])))].join('');
  // Twilio signs some requests with the port and some without it.
  return urlVariants(request.url).some((url) =>
    isEqual(request.getHeader('x-twilio-signature'), hmac('sha1', secret, url + form, 'base64')),
  );
}

function urlVariants(url: string): string[] {
  const { protocol, hostname, port } = new URL(url);
  const rest = url.slice(url.indexOf('/', `${protocol}//`.length));
  const bare = `${protocol}//${hostname}`;
  const withPort = `${bare}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
  return [`${bare}${rest}`, `${withPort}${rest}`];
}

/**
 * Verifies version 3 as the libraries of Plivo do: HMAC-SHA256 over the URL with its sorted query, the form (after a
 * dot, and a `?` if there is no query), a dot and the nonce. The `Ma` header is signed by the main account, the other
 * one by the sending account or subaccount. A header may contain several signatures.
 */
function isFromPlivo(request: SignedRequest, secret: string): boolean {
  const nonce = request.getHeader('x-plivo-signature-v3-nonce');
  if (nonce === undefined || (!request.isForm && request.rawBody.length > 0)) return false;
  const { protocol, host, pathname, searchParams } = new URL(request.url);
  const query = sortedForm(searchParams)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const form = joinForm(sortedForm(parseForm(request)));
  const parts = [query, form].filter((part) => part !== '').join('.');
  const signed = `${protocol}//${host}${pathname}${parts === '' ? '' : `?${parts}`}.${nonce}`;
  const expected = hmac('sha256', secret, signed, 'base64');
  return ['x-plivo-signature-v3', 'x-plivo-signature-ma-v3']
    .flatMap((name) => request.getHeader(name)?.split(',') ?? [])
    .some((signature) => isEqual(signature.trim(), expected));
}

/** Verifies a token that is valid for five minutes and contains the hash of the body. */
async function isFromVonage(request: SignedRequest, secret: string): Promise<boolean> {
  const token = /^Bearer +(\S+)$/i.exec(request.getHeader('authorization') ?? '')?.[1];
  if (token === undefined) return false;
  try {
    const options = { algorithms: ['HS256'], maxTokenAge: maxAgeSeconds, clockTolerance: 30 };
    const { payload } = await jwtVerify(token, Buffer.from(secret), options);
    const hash = createHash('sha256').update(request.rawBody).digest('hex');
    return typeof payload['payload_hash'] === 'string' && isEqual(payload['payload_hash'].toLowerCase(), hash);
  } catch {
    // A token that is invalid for any reason is not from the provider.
    return false;
  }
}

/**
 * Verifies the platform's own scheme: HMAC-SHA256 over `timestamp.raw_body`, with the time in seconds or milliseconds.
 */
function isGeneric(request: SignedRequest, secret: string, nowMs: number): boolean {
  const timestamp = request.getHeader('x-timestamp') ?? '';
  if (!/^\d{1,14}$/.test(timestamp)) return false;
  const ms = timestamp.length > 11 ? Number(timestamp) : Number(timestamp) * 1000;
  if (Math.abs(nowMs - ms) > maxAgeSeconds * 1000) return false;
  const data = Buffer.concat([Buffer.from(`${timestamp}.`), request.rawBody]);
  return isEqual(request.getHeader('x-signature'), `sha256=${hmac('sha256', secret, data, 'hex')}`);
}

/**
 * Returns true if a request carries its provider's signature (docs/reference/documents-and-messages.md); always false
 * without a configured secret.
 */
export async function verifySignature(
  provider: Provider,
  request: SignedRequest,
  secrets: ProviderSecrets,
  nowMs = Date.now(),
): Promise<boolean> {
  const secret = findSecret(provider, secrets);
  if (secret === undefined || secret === '') return false;
  // A request target may be an absolute URL. Appended to the public base URL, it is not a valid URL, and no provider
  // has signed it.
  if (!URL.canParse(request.url)) return false;
  switch (provider) {
    case 'twilio':
      return isFromTwilio(request, secret);
    case 'plivo':
      return isFromPlivo(request, secret);
    case 'vonage':
      return isFromVonage(request, secret);
    case 'vapi':
      return isEqual(request.getHeader('x-vapi-secret'), secret);
    case 'generic':
      return isGeneric(request, secret, nowMs);
  }
}

function findSecret(provider: Provider, secrets: ProviderSecrets): string | undefined {
  const names = {
    twilio: 'TWILIO_AUTH_TOKEN',
    plivo: 'PLIVO_AUTH_TOKEN',
    vonage: 'VONAGE_SIGNATURE_SECRET',
    vapi: 'VAPI_SECRET',
    generic: 'CHAT_GENERIC_SECRET',
  } as const;
  return secrets[names[provider]];
}
