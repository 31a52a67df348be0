import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { ResolvedAddress } from '@fleet/service-kit';

/** How long an idle connection stays open. */
const idleTimeoutMs = 8_000;
/**
 * Idle connections to a receiver. With fewer than `WEBHOOK_CONCURRENCY`, deliveries in quick succession would open new
 * ones.
 */
const maxIdle = 20;
/** Shortest time-out of one of several addresses. */
const minAttemptMs = 250;

/**
 * Creates the trust store of receivers: the public authorities, and those of a PEM file. Created once, as it is
 * expensive.
 */
export function createTrustStore(caFile: string | undefined): SecureContext | undefined {
  if (caFile === undefined) return undefined;
  return createSecureContext({ ca: [...rootCertificates, readFileSync(caFile, 'utf8')] });
}

/**
 * Manages the connection pool of one receiver. It uses the addresses that were checked last; when they change, the
 * other connections are not used any more.
 */
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
    // Connections in use end by themselves.
    this.close();
    const options = {
      keepAlive: true,
      maxFreeSockets: maxIdle,
      timeout: idleTimeoutMs,
      scheduling: 'lifo' as const,
      // Node.js would allow 250 ms for each address except the last, which is too short for a distant receiver.
      autoSelectFamilyAttemptTimeout: Math.max(minAttemptMs, Math.floor(connectTimeoutMs / (addresses.length + 1))),
    };
    const trust = this.#trust === undefined ? {} : { secureContext: this.#trust };
    // Independent of NODE_TLS_REJECT_UNAUTHORIZED.
    const tls = { rejectUnauthorized: true, ...trust };
    this.#agent = protocol === 'https:' ? new HttpsAgent({ ...options, ...tls }) : new HttpAgent(options);
    this.#key = key;
    return this.#agent;
  }

  /** Closes idle connections and keeps no more open. */
  close(): void {
    const agent = this.#agent;
    this.#agent = undefined;
    for (const sockets of Object.values(agent?.freeSockets ?? {})) for (const socket of sockets ?? []) socket.destroy();
  }
}
