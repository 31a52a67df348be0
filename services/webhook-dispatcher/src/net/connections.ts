import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { ResolvedAddress } from '@fleet/service-kit';

/** How long an idle connection is kept. */
const idleTimeoutMs = 8_000;
/** Idle connections to a receiver. With fewer than its slots (`WEBHOOK_CONCURRENCY`), deliveries in quick succession would open new ones. */
const maxIdle = 20;
/** How long one of several addresses is tried, at least. */
const minAttemptMs = 250;

/** What verifies receivers: the public authorities, and those of a PEM file. Made once, as it is costly. */
export function createTrustStore(caFile: string | undefined): SecureContext | undefined {
  if (caFile === undefined) return undefined;
  return createSecureContext({ ca: [...rootCertificates, readFileSync(caFile, 'utf8')] });
}

/** The kept connections to one receiver. They lead to the addresses that were checked last: when those change, the others are not used any more. */
export class Connections {
  readonly #trust: SecureContext | undefined;
  #key = '';
  #agent: HttpAgent | HttpsAgent | undefined;

  constructor(trust: SecureContext | undefined) {
    this.#trust = trust;
  }

  agentFor({ protocol }: URL, addresses: readonly ResolvedAddress[], connectTimeoutMs: number): HttpAgent | HttpsAgent {
    const key = [protocol, ...addresses.map(({ address }) => address).toSorted()].join(' ');
    if (this.#agent !== undefined && this.#key === key) return this.#agent;
    // Connections that are in use end by themselves.
    this.close();
    const options = {
      keepAlive: true,
      maxFreeSockets: maxIdle,
      timeout: idleTimeoutMs,
      scheduling: 'lifo' as const,
      // Node would give each address but the last one 250 ms, which is too little for a receiver on the other side of the earth.
      autoSelectFamilyAttemptTimeout: Math.max(minAttemptMs, Math.floor(connectTimeoutMs / (addresses.length + 1))),
    };
    const trust = this.#trust === undefined ? {} : { secureContext: this.#trust };
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    const tls = { rejectUnauthorized: true, ...trust };
    this.#agent = protocol === 'https:' ? new HttpsAgent({ ...options, ...tls }) : new HttpAgent(options);
    this.#key = key;
    return this.#agent;
  }

  /** Closes what is idle, and keeps nothing any more. */
  close(): void {
    const agent = this.#agent;
    this.#agent = undefined;
    for (const sockets of Object.values(agent?.freeSockets ?? {})) for (const socket of sockets ?? []) socket.destroy();
  }
}
