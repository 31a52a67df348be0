import { MongoBulkWriteError } from 'mongodb';

/**
 * The error of the driver for an update by `_id` that would make a document too large. The embedded database never
 * returns it.
 */
export function tooLargeError(id: string, code: 10_334 | 17_419 = 17_419): MongoBulkWriteError {
  const message = 'Resulting document after update is larger than 16777216';
  const fault = { index: 0, code, errmsg: message, getOperation: () => ({ q: { _id: id } }) };
  return new MongoBulkWriteError({ message, code, writeErrors: [fault] as never }, {} as never);
}
