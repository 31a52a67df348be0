import type { CommandType, ParamsOf } from './params.ts';

/** May be sent again when nobody has answered: what they do twice is what they do once (docs/reference/commands.md). */
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

/** Firmware upgrade, server change, factory reset (docs/reference/access.md). */
const criticalControls = new Set([1, 2, 5]);

/** Parameters that say where the terminal connects: setting one is a change of server. */
const isServerParameter = (id: number): boolean => (id >= 0x0010 && id <= 0x0019) || (id >= 0x0023 && id <= 0x0026);

/** True for what only owners and admins may do. A raw message may be any of it. */
export function isCritical(type: CommandType, params: Readonly<Record<string, unknown>>): boolean {
  if (type === 'raw') return true;
  if (type === 'control') return criticalControls.has((params as ParamsOf<'control'>).command);
  if (type !== 'set_parameters') return false;
  return (params as unknown as ParamsOf<'set_parameters'>).parameters.some(({ id }) => isServerParameter(id));
}

/** How an attempt ended, as the queue sees it. */
export type AttemptResult =
  /** The terminal has answered. */
  | {
      readonly kind: 'answered';
      readonly result: string;
      readonly messageId: string | null;
      readonly serial: number | null;
      readonly answer: Readonly<Record<string, unknown>> | null;
    }
  /** Nothing was sent: it stays in the queue for so long. Where that is the device's doing (`isOfDevice`), what is behind it waits too, so that the order stays. */
  | { readonly kind: 'notSent'; readonly retryMs: number; readonly isOfDevice?: boolean }
  /** It was sent, and nobody answered. */
  | { readonly kind: 'unanswered' }
  /** The terminal's answer makes no sense, or the command cannot be sent to it at all. */
  | { readonly kind: 'failed'; readonly error: 'unreadable' | 'invalid' | 'internal'; readonly message: string }
  /** Whether it was sent is not known: it is asked for again under its name. */
  | { readonly kind: 'unknown' };
