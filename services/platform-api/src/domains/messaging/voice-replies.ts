/** Reply to be spoken in a call. The call continues unless `end` is true. */
export interface VoiceReply {
  readonly reply: string;
  readonly end: boolean;
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '');

const twimlResponse = (content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>${content === '' ? '<Response/>' : `<Response>${content}</Response>`}`;

/** TwiML reply to a text message that sends no message back. */
export const emptyTwiml = twimlResponse('');

/** Returns a reply in TwiML. `Gather` listens while it speaks and posts the recognized speech to the same URL. */
export function toTwiml({ reply, end }: VoiceReply): string {
  const say = `<Say>${escapeXml(reply)}</Say>`;
  return twimlResponse(end ? say : `<Gather input="speech">${say}</Gather>`);
}

/** Returns a reply in Plivo XML. `GetInput` listens while it speaks and posts the recognized speech to `url`. */
export function toPlivoXml({ reply, end }: VoiceReply, url: string): string {
  const speak = `<Speak>${escapeXml(reply)}</Speak>`;
  if (end) return twimlResponse(speak);
  return twimlResponse(`<GetInput action="${escapeXml(url)}" method="POST" inputType="speech">${speak}</GetInput>`);
}

/** Returns a reply as a Call Control Object of Vonage. `input` listens and posts the recognized speech to `url`. */
export function toNcco({ reply, end }: VoiceReply, url: string): object[] {
  // A caller may interrupt only a reply that is followed by an input.
  if (end) return [{ action: 'talk', text: reply }];
  const input = { action: 'input', type: ['speech'], speech: {}, eventUrl: [url], eventMethod: 'POST' };
  return [{ action: 'talk', text: reply, bargeIn: true }, input];
}
