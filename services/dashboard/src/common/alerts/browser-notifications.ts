import type { AlertEvent } from './alert-rules.ts';

/** The choice belongs to this browser, as the permission does. Not a secret. */
const storageName = 'fleet-browser-notifications';

type NotificationChoice = 'unsupported' | 'denied' | 'off' | 'on';

export function getNotificationChoice(): NotificationChoice {
  if (!('Notification' in window)) return 'unsupported';
  if (Notification.permission === 'denied') return 'denied';
  return Notification.permission === 'granted' && localStorage.getItem(storageName) === '1' ? 'on' : 'off';
}

/** Turns notifications on or off. Browsers request the permission only after a click. */
export async function setNotificationChoice(isWanted: boolean): Promise<NotificationChoice> {
  if (!isWanted) localStorage.removeItem(storageName);
  else if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(storageName, '1');
  return getNotificationChoice();
}

/** Shows a notification of the browser. The tabs of a browser, and repeated events of a vehicle, share one. */
export function showNotification(
  { title, vehicle_no: vehicle, vehicle_id: id, notification_type: type }: AlertEvent,
  onOpen: () => void,
): void {
  const notification = new Notification(`${title}, ${vehicle}`, { tag: `${id}-${type}` });
  notification.onclick = () => {
    window.focus();
    onOpen();
    notification.close();
  };
}
