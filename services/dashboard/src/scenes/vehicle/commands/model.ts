import { type CommandField, type CommandType, commandFields } from './command-fields.ts';

/** What the form holds: texts and check marks, by the names of the fields. */
export type CommandForm = Readonly<Record<string, string | boolean>>;

export const emptyForm = (type: CommandType): CommandForm =>
  Object.fromEntries(commandFields[type].map((field) => [field.name, presetOf(field)]));

function presetOf(field: CommandField): string | boolean {
  if (field.kind === 'flag') return field.preset;
  if (field.kind === 'number' || field.kind === 'choice') return String(field.preset);
  return field.kind === 'word' ? (field.values[0] ?? '') : '';
}

/** The parameters of a command, or the faults of the form by field. */
type ParsedCommand =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly faults: Readonly<Record<string, 'required' | 'number' | 'lines' | 'order'>> };

/** Flags of a text belong to its options. */
const textOptions = ['emergency', 'display_by_terminal', 'tts'] as const;

export function parseCommand(type: CommandType, form: CommandForm): ParsedCommand {
  const params: Record<string, unknown> = {};
  const faults: Record<string, 'required' | 'number' | 'lines' | 'order'> = {};
  for (const field of commandFields[type]) {
    const value = form[field.name] ?? '';
    const parsed = typeof value === 'boolean' ? value : parseText(field, value.trim());
    if (parsed === 'required' || parsed === 'number' || parsed === 'lines') faults[field.name] = parsed;
    else if (parsed !== undefined)
      params[field.name] = typeof parsed === 'object' && 'value' in parsed ? parsed.value : parsed;
  }
  const { start_time: start, end_time: end } = params as { start_time?: string; end_time?: string };
  if (start !== undefined && end !== undefined && start >= end) faults['end_time'] = 'order';
  if (Object.keys(faults).length > 0) return { faults };
  return { params: type === 'text' ? withTextOptions(params) : params };
}

type Parsed = 'required' | 'number' | 'lines' | { readonly value: unknown } | undefined;

function parseText(field: CommandField, text: string): Parsed {
  switch (field.kind) {
    case 'text':
      if (text === '') return field.isOptional === true ? undefined : 'required';
      return { value: text };
    case 'number':
      return /^\d+$/.test(text) && Number(text) >= field.min && Number(text) <= field.max
        ? { value: Number(text) }
        : 'number';
    case 'choice':
      return { value: Number(text) };
    case 'time':
      return text === '' ? 'required' : { value: new Date(text).toISOString() };
    case 'ids':
      return parseIds(text);
    case 'parameters':
      return parseParameters(text);
    default:
      return { value: text };
  }
}

function parseIds(text: string): Parsed {
  const ids = text.split(/[\s,]+/).filter((part) => part !== '');
  return ids.every((id) => isId(id)) ? { value: ids.map(Number) } : 'lines';
}

const isId = (text: string): boolean => /^(0x[0-9a-f]{1,8}|\d{1,10})$/i.test(text);

/** Reads lines such as `0x0055 = 90`; a value after `hex:` is sent as bytes. */
function parseParameters(text: string): Parsed {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return 'required';
  const items = lines.map((line) => {
    const [id = '', ...rest] = line.split('=');
    const value = rest.join('=').trim();
    if (!isId(id.trim()) || value === '') return undefined;
    const number = Number(id);
    if (value.startsWith('hex:')) return { id: number, value_hex: value.slice('hex:'.length).trim() };
    return { id: number, value: /^\d+$/.test(value) ? Number(value) : value };
  });
  return items.includes(undefined) ? 'lines' : { value: items };
}

function withTextOptions({ text, ...flags }: Record<string, unknown>): Record<string, unknown> {
  const options = Object.fromEntries(textOptions.map((name) => [name, flags[name] === true]));
  return { text, options: { ...options, display_by_advertising_screen: false, central_navigation_info: false } };
}

/** Parameters that determine where the terminal connects. */
const isServerParameter = (id: number): boolean => (id >= 0x0010 && id <= 0x0019) || (id >= 0x0023 && id <= 0x0026);

/** Firmware upgrade, server change and factory reset. */
const criticalControls: ReadonlySet<unknown> = new Set([1, 2, 5]);

export const isCriticalControl = (code: number): boolean => criticalControls.has(code);

/** Returns whether only owners and admins may send a command, as the API decides. */
export function isCritical(type: CommandType, params: Readonly<Record<string, unknown>>): boolean {
  if (type === 'raw') return true;
  if (type === 'control') return criticalControls.has(params['command']);
  if (type !== 'set_parameters') return false;
  return (params['parameters'] as readonly { id: number }[]).some(({ id }) => isServerParameter(id));
}

const confirmedTypes: ReadonlySet<CommandType> = new Set(['control', 'vehicle_control', 'set_parameters', 'raw']);

/** Returns whether a command changes the vehicle or the terminal, so that it must be confirmed. */
export const needsConfirmation = (type: CommandType): boolean => confirmedTypes.has(type);
