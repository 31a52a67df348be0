/** Edition of JT/T 808 whose body layouts a terminal uses; remembered for each session. */
export type Edition = '2011' | '2013' | '2019';

/** Header layout on the wire: 2011 and 2013 share one, 2019 has a version byte and a longer number (JT/T 808-2019 table 2). */
export type HeaderForm = '2013' | '2019';

/** All editions, oldest first. */
export const editions: readonly Edition[] = ['2011', '2013', '2019'];

/** Header layout that belongs to an edition. */
export function toHeaderForm(edition: Edition): HeaderForm {
  return edition === '2019' ? '2019' : '2013';
}

/** A 0x0100 body below this size can only be the 2011 layout (25 bytes and the plate). */
const minRegistrationBytes2013 = 37;

/**
 * Edition that a message from a terminal shows. Only 0x0100 and 0x0702 tell 2011 from 2013; every other message of the
 * short header answers '2013', so keep what registration has shown.
 */
export function detectEdition(message: { header: HeaderForm; messageId: number; body: Uint8Array }): Edition {
  if (message.header === '2019') return '2019';
  if (message.messageId === 0x0100) return registrationEdition(message.body, '2013');
  if (message.messageId === 0x0702) return driverReportEdition(message.body, '2013');
  return '2013';
}

/** Layout of a 0x0100 body, given what the session is known to speak. */
export function registrationEdition(body: Uint8Array, edition: Edition): Edition {
  if (edition === '2019' && body.length >= 76) return '2019';
  if (edition === '2011' || body.length < minRegistrationBytes2013) return '2011';
  return '2013';
}

/** Layout of a 0x0702 body: from 2013 on it starts with status 1 or 2, in 2011 with the length of the name. */
export function driverReportEdition(body: Uint8Array, edition: Edition): Edition {
  if (edition === '2019') return '2019';
  if (edition === '2011') return '2011';
  return body[0] === 1 || body[0] === 2 ? '2013' : '2011';
}
