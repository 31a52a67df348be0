import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const utcTime = (atMs: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(atMs).toISOString().replaceAll(/\D/g, '').slice(2, 14)}Z`));
/** ecdsa-with-SHA256 */
const algorithm = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
/** commonName localhost */
const name = sequence(
  der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('localhost')))),
);

/** subjectAltName: the name `localhost`, and 127.0.0.1 */
const names = sequence(
  der(0x06, Buffer.from('551d11', 'hex')),
  der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))),
);

/** Returns a self-signed certificate for `localhost` and 127.0.0.1, valid for a day, and its key; both PEM. */
export function selfSigned(untilMs = Date.now() + 86_400_000): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(utcTime(untilMs - 90_000_000), utcTime(untilMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(names)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const base64 = sequence(body, algorithm, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}
