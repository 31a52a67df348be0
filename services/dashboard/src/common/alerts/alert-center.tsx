import { CloseButton } from '@mantine/core';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreferences } from '../format/preferences-context.ts';
import { useLiveEvents } from '../live/live-context.ts';
import { SeverityMark } from '../ui/marks.tsx';
import { type AlertEvent, AlertRules, isAnnounced } from './alert-rules.ts';
import { getNotificationChoice, showNotification } from './browser-notifications.ts';
import { playCriticalSound } from './critical-sound.ts';
import './alerts.css';

const visibleMs = 20_000;

/** Announces new critical events: in the page, to screen readers, by sound, and as notifications of the browser. */
export function AlertCenter() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const openPath = useLocation({ select: ({ pathname }) => pathname });
  const preferences = usePreferences();
  const rules = useRef(new AlertRules());
  const [alert, setAlert] = useState<AlertEvent | null>(null);
  const notifyByBrowser = (event: AlertEvent): void => {
    const hours = preferences?.notifications.quiet_hours ?? null;
    const timeZone = preferences?.timezone ?? 'UTC';
    if (getNotificationChoice() !== 'on' || !isAnnounced(event, Date.now(), hours, timeZone)) return;
    const params = { eventId: String(event.id) };
    showNotification(event, () => void navigate({ to: '/events/{-$eventId}', params }));
  };
  useLiveEvents(({ type, data }) => {
    const event = data as AlertEvent;
    if (type !== 'notification' || !rules.current.isNew(event)) return;
    notifyByBrowser(event);
    if (event.severity !== 'critical') return;
    setAlert(event);
    // The page is silent until its first click or key.
    const isSoundOn = preferences?.notifications.sound === true && navigator.userActivation.hasBeenActive;
    if (isSoundOn && rules.current.takeSound(event, Date.now())) void playCriticalSound();
  });
  useEffect(() => {
    if (alert === null) return undefined;
    const timer = setTimeout(() => setAlert(null), visibleMs);
    return () => clearTimeout(timer);
  }, [alert]);
  return (
    <div aria-live="assertive" className="alert-center">
      {alert === null || openPath === `/events/${alert.id}` ? null : (
        <div className="alert-card">
          <SeverityMark severity="critical" label={t('severity.critical')} />
          <Link to="/events/{-$eventId}" params={{ eventId: String(alert.id) }} onClick={() => setAlert(null)}>
            {alert.title}, {alert.vehicle_no}
          </Link>
          <CloseButton size="sm" aria-label={t('alert.close')} onClick={() => setAlert(null)} />
        </div>
      )}
    </div>
  );
}
