import { randomInt } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { DeviceCommand, Outcome } from '@fleet/bus';
import { createCircuitBreaker, SsrfGuard, type SsrfVerdict } from '@fleet/service-kit';
import CircuitBreaker from 'opossum';
import type { Config } from '../../assembly/config.ts';
import { type HubResponse, parseHubResponse, toOutcome } from './hub-response.ts';
import { toPartnerInstruction } from './instruction.ts';

/** The server that commands a partner's devices. */
export interface PartnerChannel {
  /** Base URL, to which `/api/device/sendInstruct` is appended. */
  readonly url: string;
  readonly token: string;
}

/** One command to one device of a partner. */
export interface PartnerRequest {
  readonly channel: PartnerChannel;
  /** The number as recorded. */
  readonly recordedImei: string;
  readonly command: DeviceCommand;
  readonly timeoutMs: number;
  readonly correlationId: string;
}

/** Longest wait for a partner's server, whatever the timeout of the caller (docs/reference/partners.md). */
const maxTimeoutMs = 90_000;
/** Wait for the device that is requested of a hub, in seconds. */
const deviceWaitS = 30;
const maxResponseBytes = 256 * 1024;
const volumeThreshold = 5;
const resetTimeoutMs = 30_000;
const maxBreakers = 1_000;

/** Thrown if a partner's server does not respond, or not as a hub does. */
class HubError extends Error {
  override readonly name = 'HubError';
  readonly isTimeout: boolean;
  constructor(message: string, options: { isTimeout?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isTimeout = options.isTimeout ?? false;
  }
}

type AllowedAddress = Extract<SsrfVerdict, { kind: 'allowed' }>;

interface HubRequest {
  readonly verdict: AllowedAddress;
  readonly form: string;
  readonly timeoutMs: number;
  readonly correlationId: string;
}

type HubSettings = Pick<Config, 'PARTNER_COMMAND_ALLOW_HTTP' | 'PARTNER_COMMAND_ALLOWED_CIDRS'>;

/** Creates the guard of partners' servers from the settings. */
export const partnerGuard = (config: HubSettings): SsrfGuard =>
  new SsrfGuard({
    allowHttp: config.PARTNER_COMMAND_ALLOW_HTTP,
    allowedCidrs: config.PARTNER_COMMAND_ALLOWED_CIDRS.split(',')
      .map((network) => network.trim())
      .filter((network) => network !== ''),
  });

/** Returns the address of the command channel below a base URL. */
export const commandAddress = (url: string): string => `${url.replace(/\/+$/, '')}/api/device/sendInstruct`;

/**
 * Sends commands to partners' devices over the vendor hub's command channel. Each server has its own circuit breaker.
 */
export class PartnerClient {
  readonly #guard: SsrfGuard;
  readonly #breakers = new Map<string, CircuitBreaker<[HubRequest], HubResponse>>();

  constructor(config: HubSettings, guard = partnerGuard(config)) {
    this.#guard = guard;
  }

  /** Sends a command and returns its outcome. Never throws for errors of a partner's server. */
  async send(request: PartnerRequest): Promise<Outcome> {
    const instruction = toPartnerInstruction(request.command);
    if (instruction === null)
      return { kind: 'refused', detail: 'the command channel of the partner does not support this command' };
    const address = commandAddress(request.channel.url);
    const verdict = await this.#guard.check(address);
    if (verdict.kind !== 'allowed')
      return { kind: 'unreadable', detail: `the address of the partner's server ${verdict.reason}` };
    const timeoutMs = Math.min(request.timeoutMs, maxTimeoutMs);
    const form = toForm(request, instruction, timeoutMs);
    try {
      const sent = { verdict, form, timeoutMs, correlationId: request.correlationId };
      return toOutcome(await this.#getBreaker(address).fire(sent), request.command, instruction.proNo);
    } catch (error) {
      if (error instanceof HubError && error.isTimeout) return { kind: 'timedOut' };
      if (error instanceof HubError) return { kind: 'unreadable', detail: error.message };
      if (CircuitBreaker.isOurError(error as Error))
        return { kind: 'unreadable', detail: "the partner's server is failing; requests are suspended for a while" };
      throw error;
    }
  }

  stop(): void {
    for (const breaker of this.#breakers.values()) breaker.shutdown();
  }

  #getBreaker(address: string): CircuitBreaker<[HubRequest], HubResponse> {
    const known = this.#breakers.get(address);
    if (known !== undefined) return known;
    const breaker = createCircuitBreaker(post, { volumeThreshold, resetTimeoutMs });
    this.#breakers.set(address, breaker);
    const [oldest] = this.#breakers;
    if (this.#breakers.size > maxBreakers && oldest !== undefined) {
      oldest[1].shutdown();
      this.#breakers.delete(oldest[0]);
    }
    return breaker;
  }
}

/** Returns the fields of section 18, in the order of that section. */
function toForm(
  { channel, recordedImei }: PartnerRequest,
  { proNo, cmdContent }: { proNo: number; cmdContent: string },
  timeoutMs: number,
): string {
  return new URLSearchParams({
    deviceImei: recordedImei,
    cmdContent,
    proNo: String(proNo),
    cmdType: 'normallns',
    // Gateway for JT/T devices.
    serverFlagId: '0',
    requestId: String(randomInt(1, 2 ** 47)),
    platform: 'web',
    language: 'en',
    token: channel.token,
    // Callers that want a command to wait for its device use the command queue.
    offlineFlag: 'false',
    timeOut: String(Math.max(1, Math.min(deviceWaitS, Math.floor(timeoutMs / 1000)))),
    sync: 'true',
  }).toString();
}

async function post({ verdict, form, timeoutMs, correlationId }: HubRequest): Promise<HubResponse> {
  const signal = AbortSignal.timeout(timeoutMs);
  let response: { status: number; text: string };
  try {
    response = await exchange(verdict, form, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': Buffer.byteLength(form),
        accept: 'application/json',
        'x-request-id': correlationId,
      },
      signal,
    });
  } catch (cause) {
    if (cause instanceof HubError) throw cause;
    if (signal.aborted) throw new HubError("the partner's server did not respond in time", { isTimeout: true, cause });
    throw new HubError("could not reach the partner's server", { cause });
  }
  const { status, text } = response;
  const hubResponse = parseHubResponse(text);
  // A hub that also reports errors by status describes the error in its body.
  if (hubResponse !== null && (status === 200 || (status >= 400 && status < 500))) return hubResponse;
  if (status === 504 || status === 408)
    throw new HubError(`the partner's server returned status ${status}`, { isTimeout: true });
  if (status !== 200) throw new HubError(`the partner's server returned status ${status}`);
  throw new HubError("the partner's server returned an invalid response");
}

/** Does not follow redirects: they would bypass the guard, and the token is for this address only. */
function exchange(
  { url, lookup }: AllowedAddress,
  form: string,
  options: RequestOptions,
): Promise<{ status: number; text: string }> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { ...options, lookup, agent: false }, (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    request.on('error', reject);
    request.end(form);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > maxResponseBytes)
      throw new HubError(`the partner's server returned more than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
