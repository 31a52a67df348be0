/**
 * Decodes base64, ignoring line ends and blanks; returns null for invalid text.
 *
 * No expression here repeats a character class. In a process that has compiled many expressions, V8 no longer optimises
 * new ones. A repeated class then needs memory for each character and fails with a RangeError on some millions of them.
 */
export function decodeBase64(text: string): Buffer | null {
  const letters = text.replaceAll(/\s/g, '');
  const padding = letters.endsWith('==') ? 2 : Number(letters.endsWith('='));
  const length = letters.length - padding;
  const foreignAt = letters.search(/[^A-Za-z0-9+/]/);
  if (length === 0 || (foreignAt !== -1 && foreignAt < length)) return null;
  return Buffer.from(letters, 'base64');
}
