import { Agent as HttpsAgent } from 'node:https';
import type { ResolvedAddress } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { Connections } from './connections.ts';

const url = new URL('https://hooks.fleet.example/');
const addresses = (...of: string[]): ResolvedAddress[] => of.map((address) => ({ address, family: 4 }));

describe('the connections to a receiver', () => {
  it('are replaced when its addresses change', () => {
    const connections = new Connections(undefined);
    const first = connections.agentFor(url, addresses('8.8.8.8', '9.9.9.9'), 5_000);
    expect(connections.agentFor(url, addresses('9.9.9.9', '8.8.8.8'), 5_000)).toBe(first);
    expect(connections.agentFor(url, addresses('8.8.8.8'), 5_000)).not.toBe(first);
    connections.close();
  });

  it('share the connect time-out among the addresses, and are always verified', () => {
    const optionsFor = (count: number) => {
      const connections = new Connections(undefined);
      const agent = connections.agentFor(
        url,
        addresses(...Array.from({ length: count }, (_each, n) => `8.8.8.${n}`)),
        5_000,
      );
      expect(agent).toBeInstanceOf(HttpsAgent);
      // Options of every connection; the types of Node.js omit them.
      return (agent as unknown as { readonly options: object }).options;
    };
    // The first address is distant, and the second cannot be reached from here.
    expect(optionsFor(2)).toMatchObject({ autoSelectFamilyAttemptTimeout: 1_666, rejectUnauthorized: true });
    expect(optionsFor(60)).toMatchObject({ autoSelectFamilyAttemptTimeout: 250 });
  });
});
