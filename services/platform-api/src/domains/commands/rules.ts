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

/** Control commands for firmware upgrade, server change and factory reset (docs/reference/access.md). */
const criticalControls = new Set([1, 2, 5]);

/** Returns whether a parameter determines where the terminal connects. Setting one amounts to a server change. */
const isServerParameter = (id: number): boolean => (id >= 0x0010 && id <= 0x0019) || (id >= 0x0023 && id <= 0x0026);

/** Returns whether only owners and admins may send a command. A raw message may have any effect, so it is critical. */
export function isCritical(type: CommandType, params: Readonly<Record<string, unknown>>): boolean {
  if (type === 'raw') return true;
  if (type === 'control') return criticalControls.has((params as ParamsOf<'control'>).command);
  if (type !== 'set_parameters') return false;
  return (params as unknown as ParamsOf<'set_parameters'>).parameters.some(({ id }) => isServerParameter(id));
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
