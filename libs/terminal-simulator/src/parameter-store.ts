import {
  createParameter,
  createStructuredParameter,
  type ParameterItem,
  parameterStructures,
  readParameterValue,
} from '@fleet/jt808';
import type { ResolvedOptions } from './terminal-options.ts';

function createInitialItems(options: ResolvedOptions): ParameterItem[] {
  const channels = Array.from({ length: options.channels }, (_unused, index) => ({
    physicalNo: index + 1,
    logicalNo: index + 1,
    type: 0,
    ptz: 0,
  }));
  return [
    createParameter(0x0001, Math.round(options.heartbeatMs / 1000)),
    createParameter(0x0002, Math.round(options.replyTimeoutMs / 1000)),
    createParameter(0x0003, 3),
    createParameter(0x0013, options.host),
    createParameter(0x0018, options.port),
    createParameter(0x0020, 0),
    createParameter(0x0029, Math.round(options.reportIntervalMs / 1000)),
    createParameter(0x0055, 100),
    createParameter(0x0056, 10),
    createParameter(0x0057, 14_400),
    createParameter(0x0080, 120_000),
    createParameter(0x0081, 44),
    createParameter(0x0082, 3),
    createParameter(0x0083, options.plateNo ?? ''),
    createParameter(0x0084, options.plateColor ?? 1),
    createStructuredParameter(parameterStructures.channelList, { channels }),
  ];
}

/** Holds the parameters of a terminal (0x8103, 0x8104, 0x8106), stored as written. */
export class ParameterStore {
  readonly #items = new Map<number, ParameterItem>();

  constructor(options: ResolvedOptions) {
    for (const item of createInitialItems(options)) this.#items.set(item.id, item);
  }

  /** Returns all parameters, by ascending id. */
  all(): ParameterItem[] {
    return [...this.#items.values()].toSorted((a, b) => a.id - b.id);
  }

  /** Returns the parameters of the given ids that the terminal has. */
  find(ids: readonly number[]): ParameterItem[] {
    return ids.flatMap((id) => this.#items.get(id) ?? []);
  }

  /** Stores new values; their bytes are copied. */
  set(items: readonly ParameterItem[]): void {
    for (const { id, bytes } of items) this.#items.set(id, { id, bytes: Buffer.from(bytes) });
  }

  /** Returns the value of a numeric parameter, or undefined. */
  readNumber(id: number): number | undefined {
    const item = this.#items.get(id);
    const value = item === undefined ? undefined : readParameterValue(item);
    return typeof value === 'number' ? value : undefined;
  }
}
