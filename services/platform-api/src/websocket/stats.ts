import { Counter, Gauge, type Registry } from '@fleet/service-kit';

/** Holds the counters of the websocket: plain numbers on the path of every message, read by the metrics. */
export class Stats {
  readonly open = { user: 0, share: 0 };
  readonly sent = new Map<string, number>();
  readonly received = new Map<string, number>();
  readonly closed = new Map<string, number>();
  droppedLocations = 0;

  register(registry: Registry): void {
    const { open } = this;
    const gauge = new Gauge({
      name: 'websocket_connections',
      help: 'open websocket connections, of users and of share pages',
      labelNames: ['kind'],
      registers: [registry],
      collect() {
        gauge.set({ kind: 'user' }, open.user);
        gauge.set({ kind: 'share' }, open.share);
      },
    });
    register(registry, 'websocket_messages_sent_total', 'messages sent to clients', 'type', () => this.sent);
    register(registry, 'websocket_messages_received_total', 'messages of clients', 'type', () => this.received);
    register(registry, 'websocket_closed_total', 'connections closed by the server', 'code', () => this.closed);
    register(
      registry,
      'websocket_locations_dropped_total',
      'positions replaced by newer ones because of a slow client',
      undefined,
      () => new Map([['', this.droppedLocations]]),
    );
  }

  count(counts: Map<string, number>, name: string): void {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

function register(
  registry: Registry,
  name: string,
  help: string,
  label: string | undefined,
  counts: () => ReadonlyMap<string, number>,
): void {
  const counter = new Counter({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      counter.reset();
      for (const [value, count] of counts()) counter.inc(label === undefined ? {} : { [label]: value }, count);
    },
  });
}
