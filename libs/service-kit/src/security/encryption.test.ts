import { describe, expect, it } from '@jest/globals';
import { Encryption } from './encryption.ts';

const [oldKey, newKey] = ['an old key of thirty-two characters', 'a new key of thirty-two characters.'];

describe('Encryption', () => {
  it('decrypts what it encrypted; ciphertexts hide the text and always differ', () => {
    const encryption = new Encryption(oldKey);
    const sealed = [encryption.seal('grüße', 'webhook 1'), encryption.seal('grüße', 'webhook 1')];
    expect(new Set(sealed).size).toBe(2);
    expect(sealed.join()).not.toContain(Buffer.from('grüße').toString('base64url'));
    expect(sealed.map((one) => encryption.open(one, 'webhook 1'))).toEqual(['grüße', 'grüße']);
    expect(encryption.open(encryption.seal('', 'nothing'), 'nothing')).toBe('');
  });

  it('encrypts files as bytes, bound to key and purpose too', () => {
    const encryption = new Encryption(oldKey);
    const file = Buffer.from([0, 255, 1, 46, 46, 200]);
    const sealed = encryption.sealBytes(file, 'document 1');
    expect(sealed.length).toBeLessThan(file.length + 64);
    expect(sealed.includes(file)).toBe(false);
    expect(new Encryption(`${newKey},${oldKey}`).openBytes(sealed, 'document 1')).toEqual(file);
    expect(encryption.openBytes(encryption.sealBytes(Buffer.alloc(0), 'nothing'), 'nothing')).toEqual(Buffer.alloc(0));
    expect(() => encryption.openBytes(sealed, 'document 2')).toThrow(/authenticate/);
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
    expect(() => encryption.openBytes(changed, 'document 1')).toThrow(/authenticate/);
    expect(() => encryption.openBytes(file, 'document 1')).toThrow(/unknown form/);
    expect(() => new Encryption(newKey).openBytes(sealed, 'document 1')).toThrow(/lacks the key/);
  });

  it('decrypts nothing for another purpose, after a changed byte, or truncated', () => {
    const encryption = new Encryption(oldKey);
    const sealed = encryption.seal('secret', 'webhook 1');
    expect(() => encryption.open(sealed, 'webhook 2')).toThrow(/authenticate/);
    expect(() => encryption.open(sealed.slice(0, -4), 'webhook 1')).toThrow(/authenticate/);
    const last = sealed.split('.').at(-1) ?? '';
    const changed = sealed.replace(last, (last.startsWith('A') ? 'B' : 'A') + last.slice(1));
    expect(() => encryption.open(changed, 'webhook 1')).toThrow(/authenticate/);
    expect(encryption.tryOpen(changed, 'webhook 1')).toBeNull();
    expect(encryption.tryOpen(sealed, 'webhook 1')).toBe('secret');
    expect(() => encryption.open('plain text', 'webhook 1')).toThrow(/unknown form/);
  });

  it('is rotated by a new key before the old one', () => {
    const sealed = new Encryption(oldKey).seal('secret', 'webhook 1');
    const both = new Encryption(`${newKey}, ${oldKey}`);
    expect(both.open(sealed, 'webhook 1')).toBe('secret');
    const again = both.seal('secret', 'webhook 1');
    expect(new Encryption(newKey).open(again, 'webhook 1')).toBe('secret');
    expect(() => new Encryption(newKey).open(sealed, 'webhook 1')).toThrow(/lacks the key/);
    expect(() => new Encryption(' , ')).toThrow(/no key/);
  });
});
