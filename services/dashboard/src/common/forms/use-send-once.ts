import { useState } from 'react';
import { createSendOnce, type SendOnce } from './send-once.ts';

/** Returns the function that sends the requests of this form; see `createSendOnce`. */
export function useSendOnce(options?: Parameters<typeof createSendOnce>[0]): SendOnce {
  const [send] = useState(() => createSendOnce(options));
  return send;
}
