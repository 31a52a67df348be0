import type { LiveEvent } from '@fleet/bus';
import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { anything, assert, configureGlobal, constantFrom, json, oneof, property, string, tuple } from 'fast-check';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import { withoutNullIsland } from '../domains/share-links/rules.ts';
import { parseClientMessage } from './client-messages.ts';
import { LocationThrottle } from './location-throttle.ts';
import { MessageLimit } from './message-limit.ts';
import { type EventRecipients, OutgoingEvent } from './outgoing-event.ts';
import { SingleFlight } from './single-flight.ts';
import { snapshotMessages } from './snapshots.ts';
import { StaleEventFilter } from './stale-event-filter.ts';
import { Subscriptions } from './subscriptions.ts';

configureGlobal(propertySettings);

const event = (vehicleId: number, timestamp: number): OutgoingEvent =>
  new OutgoingEvent(1, { type: 'location', vehicleId, atMs: 0, data: { timestamp, driver_id: 5 } });

describe('Pace', () => {
  it('passes one in each interval, and keeps the newest of the others', () => {
    const throttle = new LocationThrottle();
    expect(throttle.admit(event(1, 10), 1_000, 0)).toBe(true);
    expect(throttle.admit(event(2, 10), 1_000, 0)).toBe(true);
    expect(throttle.admit(event(1, 12), 1_000, 100)).toBe(false);
    expect(throttle.admit(event(1, 11), 1_000, 200)).toBe(false);
    expect(throttle.takeDue(999)).toEqual([]);
    expect(throttle.takeDue(1_000).map(({ timestamp }) => timestamp)).toEqual([12]);
    expect(throttle.takeDue(1_000)).toEqual([]);
    expect(throttle.admit(event(1, 13), 1_000, 1_999)).toBe(false);
    // Waiting ones are first.
    expect(throttle.admit(event(1, 14), 1_000, 2_500)).toBe(false);
    expect(throttle.takeDue(2_500).map(({ timestamp }) => timestamp)).toEqual([14]);
    throttle.takeDue(50_000);
    expect(throttle.admit(event(1, 1), 1_000, 60_000)).toBe(true);
  });
});

describe('changes of a stream', () => {
  const change = (sequence: number, by = 'pod-1', channel_id = 1): LiveEvent => ({
    type: 'stream',
    vehicleId: 1,
    atMs: 0,
    data: { channel_id },
    order: { by, sequence },
  });

  it('are dropped if newer ones overtook them', () => {
    const subject = new StaleEventFilter();
    expect([1, 3, 2, 3, 4].map((sequence) => subject.admit(change(sequence)))).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
    // Of another channel, of another publisher, and of one without a sequence.
    expect(subject.admit(change(1, 'pod-1', 2))).toBe(true);
    expect(subject.admit(change(1, 'pod-2'))).toBe(true);
    const { order: _none, ...unordered } = change(1);
    expect(subject.admit(unordered)).toBe(true);
  });

  it('drop a start after its consequences, and accept another start', () => {
    const subject = new StaleEventFilter();
    const stream = { type: 'stream', vehicleId: 7, atMs: 0 } as const;
    const status = (word: string, startId: string, channel_id = 1) => ({
      ...stream,
      data: { channel_id, status: word },
      startId,
    });
    const streaming = (startId: string, sequence: number) => ({
      ...status('streaming', startId),
      order: { by: 'pod-1', sequence },
    });
    expect(subject.admit(streaming('first', 1))).toBe(true);
    expect(subject.admit(status('starting', 'first'))).toBe(false);
    expect(subject.admit(status('starting', 'first', 2))).toBe(true);
    expect(subject.admit(streaming('first', 2))).toBe(true);
    expect(subject.admit(status('starting', 'second'))).toBe(true);
    expect(subject.admit(status('starting', 'second'))).toBe(true);
    // Stopped by the requester before its first packet: an end like any other.
    expect(subject.admit(status('stopped', 'second'))).toBe(true);
    expect(subject.admit(status('starting', 'second'))).toBe(false);
    expect(subject.admit(streaming('third', 3))).toBe(true);
    expect(subject.admit(status('starting', 'third'))).toBe(false);
  });
});

describe('MessageLimit', () => {
  it('accepts 20 messages in 10 seconds, and ends at the third strike in a minute', () => {
    const limit = new MessageLimit();
    for (let n = 0; n < 20; n += 1) expect(limit.take(n * 100)).toBe(true);
    expect(limit.take(9_999)).toBe(false);
    expect(limit.take(10_000)).toBe(true);
    expect(limit.take(10_050)).toBe(false);
    expect([limit.strike(0), limit.strike(30_000), limit.strike(60_000), limit.strike(60_001)]).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});

describe('Subscriptions', () => {
  const all = (events: string[], minIntervalMs = 0) =>
    ({ vehicles: 'all', events, minIntervalMs }) as Parameters<Subscriptions['add']>[0];
  const some = (vehicles: number[], events: string[], minIntervalMs = 0) =>
    ({ vehicles, events, minIntervalMs }) as Parameters<Subscriptions['add']>[0];

  it('are the default events of all vehicles before the first message', () => {
    const subscriptions = new Subscriptions();
    expect(subscriptions.findIntervalMs('location', 1)).toBe(0);
    expect(subscriptions.findIntervalMs('command', 1)).toBeUndefined();
    subscriptions.add(some([1], ['command']));
    expect(subscriptions.findIntervalMs('location', 1)).toBeUndefined();
    expect(subscriptions.findIntervalMs('command', 1)).toBe(0);
    expect(subscriptions.findIntervalMs('command', 2)).toBeUndefined();
  });

  it('add up, and are removed one by one', () => {
    const subscriptions = new Subscriptions();
    subscriptions.remove(some([7], ['location']));
    expect(subscriptions.toResponse()).toEqual([
      { vehicles: 'all', except: [7], events: ['location'], min_interval_ms: 0 },
      { vehicles: 'all', events: ['status', 'notification'], min_interval_ms: 0 },
    ]);
    subscriptions.add(some([7, 8], ['location', 'media'], 5_000));
    subscriptions.add(some([9], ['media'], 5_000));
    expect(subscriptions.findIntervalMs('location', 7)).toBe(5_000);
    expect(subscriptions.findIntervalMs('location', 8)).toBe(0);
    expect(subscriptions.toResponse().slice(2)).toEqual([
      { vehicles: [7, 8], events: ['location', 'media'], min_interval_ms: 5_000 },
      { vehicles: [9], events: ['media'], min_interval_ms: 5_000 },
    ]);
    subscriptions.remove(all(['location', 'media']));
    expect(subscriptions.toResponse()).toEqual([
      { vehicles: 'all', events: ['status', 'notification'], min_interval_ms: 0 },
    ]);
    subscriptions.remove(all(['status', 'notification']));
    expect(subscriptions.toResponse()).toEqual([]);
  });

  it('have a limit', () => {
    const subscriptions = new Subscriptions();
    const ids = (from: number) => Array.from({ length: 1_000 }, (_unused, n) => from + n + 1);
    const taken = Array.from({ length: 12 }, (_unused, n) => subscriptions.add(some(ids(n * 1_000), ['location'])));
    expect(taken.filter(Boolean)).toHaveLength(10);
    subscriptions.add(all(['location', 'status', 'notification', 'command']));
    const removed = Array.from({ length: 12 }, (_unused, n) =>
      subscriptions.remove(some(ids(n * 1_000), ['status', 'command'])),
    );
    expect(removed.filter(Boolean)).toHaveLength(10);
  });
});

describe('Coalesced', () => {
  it('serves many callers with few reads, none of them started before the call', async () => {
    let begun = 0;
    const ends: (() => void)[] = [];
    const coalesced = new SingleFlight(async () => {
      begun += 1;
      const flight = begun;
      await new Promise<void>((resolve) => ends.push(resolve));
      if (flight === 2) throw new Error('the second fails');
      return flight;
    });
    const first = coalesced.get(1);
    const second = [coalesced.get(1), coalesced.get(1)];
    expect(begun).toBe(1);
    ends.shift()?.();
    expect(await first).toBe(1);
    expect(begun).toBe(2);
    const third = coalesced.get(1);
    ends.shift()?.();
    for (const each of second) await expect(each).rejects.toThrow('the second fails');
    while (ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    ends.shift()?.();
    expect(await third).toBe(3);
    const fourth = coalesced.get(1);
    expect(begun).toBe(4);
    ends.shift()?.();
    expect(await fourth).toBe(4);
  });
});

describe('snapshots', () => {
  it.each([
    [0, [0]],
    [1, [1]],
    [200, [200]],
    [201, [200, 1]],
    [1_000, [200, 200, 200, 200, 200]],
  ])('of %i positions are messages of %j', (count, sizes) => {
    const messages = snapshotMessages(Array.from({ length: count }, (_unused, n) => ({ n })));
    const data = messages.map(
      (message) => (JSON.parse(String(message)) as { data: { locations: []; final: boolean } }).data,
    );
    expect(data.map(({ locations }) => locations.length)).toEqual(sizes);
    expect(data.map(({ final }) => final)).toEqual(sizes.map((_size, at) => at === sizes.length - 1));
  });
});

describe('an event', () => {
  it('is encoded once for equal audiences', () => {
    const one = event(1, 5);
    expect(one.messageFor('own')).toBe(one.messageFor('own'));
    expect(one.messageFor('shared')).not.toBe(one.messageFor('own'));
    expect(String(one.messageFor('shared'))).toContain('"driver_id":null');
    expect(String(one.messageFor('public'))).not.toContain('driver');
  });

  it('has the geofence as address for its own account only', () => {
    const data = { id: 1, address: 'Shenzhen', area: 'Depot', driver_id: 5 };
    const of = (area: string | null, audience: EventRecipients): unknown => {
      const subject = new OutgoingEvent(1, { type: 'notification', vehicleId: 1, atMs: 0, data: { ...data, area } });
      return (JSON.parse(String(subject.messageFor(audience))) as { data: unknown }).data;
    };
    expect(of('Depot', 'own')).toEqual({ id: 1, address: 'Depot', driver_id: 5 });
    expect(of(null, 'own')).toEqual({ id: 1, address: 'Shenzhen', driver_id: 5 });
    expect(of('Depot', 'driver')).toEqual({ id: 1, address: 'Shenzhen', driver_id: 5 });
    expect(of('Depot', 'shared')).toEqual({ id: 1, address: 'Shenzhen', driver_id: null });
    expect(of('Depot', 'public')).toEqual({});
  });
});

describe('a share page', () => {
  it('has no position before the first fix', () => {
    const nowhere = { latitude: 0, longitude: 0, gpsValid: false } as LastLocation;
    expect([null, nowhere].map(withoutNullIsland)).toEqual([null, null]);
    const places = [
      { ...nowhere, gpsValid: true },
      { ...nowhere, latitude: 1.5 },
    ];
    expect(places.map(withoutNullIsland)).toEqual(places);
  });
});

describe('messages of clients', () => {
  it('are parsed or rejected, and never throw', () => {
    const types = ['subscribe', 'unsubscribe', 'ping', 'resume', 'toString', '__proto__'];
    const written = (value: unknown): string =>
      JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ?? '';
    const message = tuple(constantFrom(...types), anything(), anything(), anything(), anything()).map(
      ([type, vehicles, events, id, since]) => written({ type, vehicles, events, id, since, min_interval_ms: since }),
    );
    const read = (text: string) => {
      const response = parseClientMessage(text);
      if (!('fault' in response) && 'selection' in response) new Subscriptions().add(response.selection);
      return response;
    };
    expect(() =>
      assert(
        property(oneof(string(), json(), message), (text) => isHandled(read(text))),
        { numRuns: propertyRuns(5_000) },
      ),
    ).not.toThrow();
  });
});

const isHandled = (read: ReturnType<typeof parseClientMessage>): boolean =>
  'fault' in read ? read.fault.message !== '' : ['subscribe', 'unsubscribe', 'ping', 'resume'].includes(read.type);
