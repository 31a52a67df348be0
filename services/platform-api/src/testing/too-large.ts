import { MongoBulkWriteError } from 'mongodb';

/** What the driver throws where an update by `_id` would make a document too large; the embedded database never does. */
export function tooLargeError(id: string, code: 10_334 | 17_419 = 17_419): MongoBulkWriteError {
  const message = 'Resulting document after update is larger than 16777216';
  const fault = { index: 0, code, errmsg: message, getOperation: () => ({ q: { _id: id } }) };
  return new MongoBulkWriteError({ message, code, writeErrors: [fault] as never }, {} as never);
}
