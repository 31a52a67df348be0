/**
 * Query strings that the Device API has to refuse with 400, as tables of [description, query]. They are sent unchanged.
 */
export type InvalidQueries = readonly (readonly [what: string, query: string])[];

export const invalidImeis: InvalidQueries = [
  ['no imei', ''],
  ['an empty imei', 'imei='],
  ['an imei of blanks', 'imei=++++++++++++'],
  ['11 digits', 'imei=13900000001'],
  ['13 digits', 'imei=1390000000123'],
  ['19 digits', 'imei=1390000000123456789'],
  ['21 digits', 'imei=139000000012345678901'],
  ['a letter', 'imei=01390000000a'],
  ['hexadecimal', 'imei=0x1390000000'],
  ['an exponent', 'imei=1390000000e2'],
  ['a plus, which is a blank', 'imei=+13900000001'],
  ['an escaped plus', 'imei=%2B13900000001'],
  ['a minus', 'imei=-13900000001'],
  ['a fraction', 'imei=1390000000.1'],
  ['a line break', 'imei=013900000001%0A'],
  ['digits of another script', `imei=${encodeURIComponent('١٢٣٤٥٦٧٨٩٠١٢')}`],
  ['12 zeros', 'imei=000000000000'],
  ['20 zeros', 'imei=00000000000000000000'],
  ['an imei given twice', 'imei=013900000001&imei=013900000001'],
  ['two imeis', 'imei=013900000001&imei=013900000002'],
  ['an imei as a list', 'imei[]=013900000001'],
  ['malformed escapes', 'imei=%zz'],
];

/** Values that no integer parameter accepts. */
const invalidIntegers = (name: string): InvalidQueries => [
  [`an empty ${name}`, `${name}=`],
  [`a blank space for ${name}`, `${name}=%20`],
  [`text for ${name}`, `${name}=one`],
  [`hexadecimal ${name}`, `${name}=0x1`],
  [`${name} with an exponent`, `${name}=1e0`],
  [`${name} with a fraction`, `${name}=1.0`],
  [`${name} with an escaped plus`, `${name}=%2B1`],
  [`${name} with a plus, which is a blank`, `${name}=+1`],
  [`${name} below 0`, `${name}=-1`],
  [`${name} of 20 digits`, `${name}=99999999999999999999`],
  [`${name} given twice`, `${name}=1&${name}=1`],
  [`NaN for ${name}`, `${name}=NaN`],
];

const invalidAbove = (name: string, value: number): InvalidQueries => [[`${name} above its range`, `${name}=${value}`]];

/**
 * Invalid values of a number from 0 to `highest`, or of an enumeration of such numbers; `below` lists values of the
 * range that it does not allow.
 */
export const invalidNumber = (name: string, maximum: number, excluded: readonly number[] = []): InvalidQueries => [
  ...invalidIntegers(name),
  ...invalidAbove(name, maximum + 1),
  ...excluded.map((value): InvalidQueries[number] => [`${name} that is ${value}`, `${name}=${value}`]),
];

/** A number of 20 digits is the first that does not fit into 64 bits. */
export const invalidAlarms: InvalidQueries = [
  ...invalidIntegers('alarm'),
  ['alarm of 65 bits', 'alarm=18446744073709551616'],
];

export const invalidFlags = (name: string): InvalidQueries => [
  [`an empty ${name}`, `${name}=`],
  [`a number for ${name}`, `${name}=1`],
  [`a word for ${name}`, `${name}=yes`],
  [`${name} in capitals`, `${name}=TRUE`],
  [`${name} given twice`, `${name}=true&${name}=true`],
];

export const invalidHosts: InvalidQueries = [
  ['an empty host', 'host='],
  ['a host with a blank', 'host=a%20b'],
  ['an invalid host name', 'host=%E4%B8%AD'],
  ['a host that is too long', `host=${'a'.repeat(254)}`],
  ['two hosts', 'host=a.example&host=b.example'],
];

export const invalidTimes = (name: string): InvalidQueries => [
  [`an empty ${name}`, `${name}=`],
  [`a ${name} without an offset`, `${name}=2026-08-01T10:00:00`],
  [`a ${name} without a time of day`, `${name}=2026-08-01`],
  [`a ${name} in seconds since 1970`, `${name}=1785549600`],
  [`a ${name} with a space for its T`, `${name}=2026-08-01%2010:00:00Z`],
  [`a ${name} on an invalid day`, `${name}=2026-02-29T10:00:00Z`],
  [`a ${name} with an invalid hour`, `${name}=2026-08-01T24:00:00Z`],
  [`a ${name} whose plus is a blank`, `${name}=2026-08-01T10:00:00+08:00`],
  [`a ${name} given twice`, `${name}=2026-08-01T10:00:00Z&${name}=2026-08-01T10:00:00Z`],
];

export const invalidVideoIds: InvalidQueries = [
  ['an empty video_id', 'video_id='],
  ['23 digits', `video_id=${'a'.repeat(23)}`],
  ['25 digits', `video_id=${'a'.repeat(25)}`],
  ['a letter after f', `video_id=${'a'.repeat(23)}g`],
  ['blanks', `video_id=${'+'.repeat(24)}`],
  ['digits of another script', `video_id=${encodeURIComponent('١'.repeat(24))}`],
  ['a path', `video_id=${encodeURIComponent('../'.repeat(8))}`],
  ['a line break at the end', `video_id=${'a'.repeat(24)}%0A`],
  ['a video_id given twice', `video_id=${'a'.repeat(24)}&video_id=${'a'.repeat(24)}`],
  ['a video_id as an object', 'video_id[$ne]=0'],
];

/** Bodies that are not an object with these fields. */
export const invalidBodies: readonly (readonly [what: string, body: string | undefined])[] = [
  ['no body', undefined],
  ['an empty body', ''],
  ['a body that is not JSON', '{command:1}'],
  ['a truncated body', '{"command":'],
  ['null', 'null'],
  ['a text', '"command"'],
  ['a list', '[{"command":1,"text":"x"}]'],
  ['an empty object', '{}'],
];

const textOptions = {
  emergency: false,
  display_by_terminal: true,
  tts: false,
  display_by_advertising_screen: false,
  central_navigation_info: false,
};
const textBody = (more: object): string => JSON.stringify({ text: 'x', ...more });

/** Bodies of `/send-text` with one fault, and the field that the error has to name. */
export const invalidTextBodies: readonly (readonly [body: string, named: string])[] = [
  ['{"text":""}', 'text'],
  ['{"text":null}', 'text'],
  ['{"text":5}', 'text'],
  ['{"text":["x"]}', 'text'],
  ['{"text":"a","text":"b"}', 'text'],
  [textBody({ text: 'x'.repeat(1025) }), 'text'],
  [textBody({ text_type: 'notification' }), 'text_type'],
  [textBody({ text_type: '' }), 'text_type'],
  [textBody({ text_type: 1 }), 'text_type'],
  [textBody({ options: null }), 'options'],
  [textBody({ options: true }), 'options'],
  ...Object.keys(textOptions).flatMap((name): [string, string][] => [
    [textBody({ options: { ...textOptions, [name]: undefined } }), name],
    [textBody({ options: { ...textOptions, [name]: null } }), name],
    [textBody({ options: { ...textOptions, [name]: 1 } }), name],
  ]),
];

const controlBody = (more: object): string => JSON.stringify({ command: 8, ...more });

/** Bodies of `/send-control-command` with one fault, and the field that the error has to name. */
export const invalidControlBodies: readonly (readonly [body: string, named: string])[] = [
  ...['-1', '256', '1.5', '1e3', '"4"', 'true', 'null', '[4]', '-0', '99999999999999999999'].map(
    (command): [string, string] => [`{"command":${command}}`, 'command'],
  ),
  ['{"command":4,"command":4}', 'command'],
  ...[5, true, [], {}].map((parameters): [string, string] => [controlBody({ parameters }), 'parameters']),
  ...[3, 4, 5, 6, 7].map((command): [string, string] => [controlBody({ command, parameters: 'x' }), 'parameters']),
  [controlBody({ command: 1, parameters: ';'.repeat(12) }), 'parameters'],
  [controlBody({ command: 2, parameters: '0;;;;;host;65536' }), 'parameters'],
  [controlBody({ command: 2, parameters: '2' }), 'parameters'],
];
