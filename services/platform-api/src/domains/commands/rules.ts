import type { CommandType, ParamsOf } from './params.ts';

/** Idempotent types, which may be sent again without a response (docs/reference/commands.md). */
const repeatableTypes: ReadonlySet<CommandType> = new Set<CommandType>([
  'wakeup',
  'live_stop',
  'resource_list',
  'query_parameters',
  'query_attributes',
  'locate',
  'set_parameters',
]);

export const isRepeatable = (type: CommandType): boolean => repeatableTypes.has(type);

export const maxAttempts = (type: CommandType): number => (isRepeatable(type) ? 10 : 1);

/**
 * Commands that only owners and admins may send (docs/reference/access.md): raw messages, which may have any effect;
 * firmware upgrade, server change and factory reset; parameters that determine where the terminal connects.
 */
export const criticalCommands = {
  types: ['raw'] as readonly CommandType[],
  controls: [1, 2, 5] as readonly number[],
  /** First and last ids. */
  parameterRanges: [
    [0x0010, 0x0019],
    [0x0023, 0x0026],
  ] as readonly (readonly [number, number])[],
};

const isCriticalParameter = (id: number): boolean =>
  criticalCommands.parameterRanges.some(([first, last]) => id >= first && id <= last);

/** Returns whether only owners and admins may send a command. */
export function isCritical(type: CommandType, params: Readonly<Record<string, unknown>>): boolean {
  if (type === 'control') return criticalCommands.controls.includes((params as ParamsOf<'control'>).command);
  if (type !== 'set_parameters') return criticalCommands.types.includes(type);
  return (params as unknown as ParamsOf<'set_parameters'>).parameters.some(({ id }) => isCriticalParameter(id));
}

/** The result of an attempt for the queue. */
export type AttemptResult =
  /** The terminal has responded. */
  | {
      readonly kind: 'answered';
      readonly result: string;
      readonly messageId: string | null;
      readonly serial: number | null;
      readonly response: Readonly<Record<string, unknown>> | null;
    }
  /**
   * Nothing was sent, and the command stays in the queue for `retryMs`. If the device is the reason (`isOfDevice`),
   * later commands wait too, which preserves the order.
   */
  | { readonly kind: 'notSent'; readonly retryMs: number; readonly isOfDevice?: boolean }
  /** The command was sent, and the terminal did not respond. */
  | { readonly kind: 'unanswered' }
  /** The response of the terminal is invalid, or the command cannot be sent to it at all. */
  | { readonly kind: 'failed'; readonly error: 'unreadable' | 'invalid' | 'internal'; readonly message: string }
  /** It is unknown whether the command was sent. It is sent again under its name. */
  | { readonly kind: 'unknown' };
