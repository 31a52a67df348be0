import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { Config } from '../../assembly/config.ts';
import type { Provider } from './schema.ts';

/** A request as its provider has signed it. */
export interface SignedRequest {
  /** As the provider reaches it, with its query. */
  readonly url: string;
  readonly getHeader: (name: string) => string | undefined;
  readonly rawBody: Buffer;
  readonly isForm: boolean;
}

/** Settings that hold the providers' secrets. */
export type ProviderSecrets = Pick<
  Config,
  'CHAT_GENERIC_SECRET' | 'TWILIO_AUTH_TOKEN' | 'PLIVO_AUTH_TOKEN' | 'VONAGE_SIGNATURE_SECRET' | 'VAPI_SECRET'
>;

const maxAgeSeconds = 300;

/** Compares in constant time; the lengths may be told apart. */
function isEqual(actual: string | undefined, expected: string): boolean {
  if (actual === undefined) return false;
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const hmac = (algorithm: 'sha1' | 'sha256', secret: string, data: string | Buffer, form: 'base64' | 'hex'): string =>
  createHmac(algorithm, secret).update(data).digest(form);

/** Names and values of a form in the order of the names, values of one name in their own. */
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

/** HMAC-SHA1 over the URL and the form's names and values in order; JSON is named by its hash in the URL. */
function isFromTwilio(request: SignedRequest, secret: string): boolean {
  const bodyHash = new URL(request.url).searchParams.get('bodySHA256');
  if (bodyHash !== null) {
    if (!isEqual(bodyHash.toLowerCase(), createHash('sha256').update(request.rawBody).digest('hex'))) return false;
  } else if (!request.isForm && request.rawBody.length > 0) return false;
  // A value that stands twice under its name is signed once.
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
 * Version 3, as Plivo's own libraries check it: HMAC-SHA256 over the URL with its query in order, the form (behind a dot, and a `?` where there is no query), a
 * dot and the nonce. The `Ma` header is signed by the main account, the other by the account or sub-account that sends; a header may name several signatures.
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

/** A token of five minutes that names the body by its hash. */
async function isFromVonage(request: SignedRequest, secret: string): Promise<boolean> {
  const token = /^Bearer +(\S+)$/i.exec(request.getHeader('authorization') ?? '')?.[1];
  if (token === undefined) return false;
  try {
    const options = { algorithms: ['HS256'], maxTokenAge: maxAgeSeconds, clockTolerance: 30 };
    const { payload } = await jwtVerify(token, Buffer.from(secret), options);
    const hash = createHash('sha256').update(request.rawBody).digest('hex');
    return typeof payload['payload_hash'] === 'string' && isEqual(payload['payload_hash'].toLowerCase(), hash);
  } catch {
    // Whatever is wrong with a token, it is not the provider's.
    return false;
  }
}

/** Our own scheme: HMAC-SHA256 over `timestamp.raw_body`; the time is in seconds, or milliseconds. */
function isGeneric(request: SignedRequest, secret: string, nowMs: number): boolean {
  const timestamp = request.getHeader('x-timestamp') ?? '';
  if (!/^\d{1,14}$/.test(timestamp)) return false;
  const ms = timestamp.length > 11 ? Number(timestamp) : Number(timestamp) * 1000;
  if (Math.abs(nowMs - ms) > maxAgeSeconds * 1000) return false;
  const data = Buffer.concat([Buffer.from(`${timestamp}.`), request.rawBody]);
  return isEqual(request.getHeader('x-signature'), `sha256=${hmac('sha256', secret, data, 'hex')}`);
}

/** True where a request carries its provider's signature (docs/reference/documents-and-messages.md); never without a configured secret. */
export async function verifySignature(
  provider: Provider,
  request: SignedRequest,
  secrets: ProviderSecrets,
  nowMs = Date.now(),
): Promise<boolean> {
  const secret = findSecret(provider, secrets);
  if (secret === undefined || secret === '') return false;
  // A request may name a whole address where its path belongs; behind ours that is none, and nobody has signed it.
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
