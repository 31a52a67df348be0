/** Query strings that the Device API has to refuse with 400, as tables of [what is wrong, query]; they go out as they stand. */
export type BadQueries = readonly (readonly [what: string, query: string])[];

export const badImeis: BadQueries = [
  ['no imei', ''],
  ['a blank imei', 'imei='],
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

/** Faults that no integer parameter lets through. */
const badIntegers = (name: string): BadQueries => [
  [`a blank ${name}`, `${name}=`],
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

const above = (name: string, value: number): BadQueries => [[`${name} above its range`, `${name}=${value}`]];

export const badChannels: BadQueries = [['no channel', ''], ...badIntegers('channel'), ...above('channel', 256)];

export const badStartParameters: BadQueries = [
  ['a blank host', 'host='],
  ['a host with a blank', 'host=a%20b'],
  ['a host that is no name', 'host=%E4%B8%AD'],
  ['a host that is too long', `host=${'a'.repeat(254)}`],
  ['two hosts', 'host=a.example&host=b.example'],
  ...badIntegers('tcp_port'),
  ...above('tcp_port', 65_536),
  ...badIntegers('udp_port'),
  ...above('udp_port', 65_536),
  ...badIntegers('data_type'),
  ...above('data_type', 6),
  ...badIntegers('stream_type'),
  ...above('stream_type', 2),
];

export const badControlParameters: BadQueries = [
  ['no ctrl_instruction', ''],
  ...badIntegers('ctrl_instruction'),
  ...above('ctrl_instruction', 5),
  ...[...badIntegers('close_stream_type'), ...above('close_stream_type', 3)].map(alsoGood),
  ...[...badIntegers('stream_type'), ...above('stream_type', 2)].map(alsoGood),
];

function alsoGood([what, query]: BadQueries[number]): BadQueries[number] {
  return [what, `ctrl_instruction=0&${query}`];
}
