/** Edition of JT/T 808 whose body layouts a terminal uses; stored per session. */
export type Edition = '2011' | '2013' | '2019';

/**
 * Header layout on the wire. 2011 and 2013 share one; 2019 has a version byte and a longer number (JT/T 808-2019 table
 * 2).
 */
export type HeaderForm = '2013' | '2019';

/** All editions, oldest first. */
export const editions: readonly Edition[] = ['2011', '2013', '2019'];

/** Returns the header layout of an edition. */
export function toHeaderForm(edition: Edition): HeaderForm {
  return edition === '2019' ? '2019' : '2013';
}

/** Smallest 0x0100 body of the 2013 layout. A smaller one has the 2011 layout (25 bytes and the plate). */
const minRegistrationBytes2013 = 37;

/**
 * Detects the edition from a message of a terminal. Only 0x0100 and 0x0702 distinguish 2011 from 2013; every other
 * message with the short header returns '2013', so store the result of the registration.
 */
export function detectEdition(message: { header: HeaderForm; messageId: number; body: Uint8Array }): Edition {
  if (message.header === '2019') return '2019';
  if (message.messageId === 0x0100) return registrationEdition(message.body, '2013');
  if (message.messageId === 0x0702) return driverReportEdition(message.body, '2013');
  return '2013';
}

/** Returns the layout of a 0x0100 body, given the session's edition. */
export function registrationEdition(body: Uint8Array, edition: Edition): Edition {
  if (edition === '2019' && body.length >= 76) return '2019';
  if (edition === '2011' || body.length < minRegistrationBytes2013) return '2011';
  return '2013';
}

/**
 * Returns the layout of a 0x0702 body. Since 2013 it starts with status 1 or 2; in 2011 with the length of the name.
 */
export function driverReportEdition(body: Uint8Array, edition: Edition): Edition {
  if (edition === '2019') return '2019';
  if (edition === '2011') return '2011';
  return body[0] === 1 || body[0] === 2 ? '2013' : '2011';
}
