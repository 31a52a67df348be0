import { IconActivity } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { stateOf } from '../captures/capture-entry.ts';
import { useCaptureActivity } from '../captures/queries.ts';
import { useDownloads } from '../downloads/queries.ts';
import { useCan } from '../session/session-context.ts';
import { hasEnded } from './activity-store.ts';
import { isActive, isRecent } from './recent-downloads.ts';
import { useCommandActivity } from './use-command-activity.ts';

const ActivityPanel = lazy(() => import('./activity-panel.tsx').then((module) => ({ default: module.ActivityPanel })));

/** Uploads of one request. */
const maxDownloads = 50;

/**
 * Shows the entry of the navigation with what runs: pictures, clips, uploads, conversions and commands. It is the same on every page.
 */
export function ActivityTray() {
  const { t } = useTranslation();
  const can = useCan();
  const [isOpen, setIsOpen] = useState(false);
  const { data } = useDownloads({}, maxDownloads, can('video'));
  const { commands, clear } = useCommandActivity();
  const captures = useCaptureActivity();
  const downloads = (data?.data ?? []).filter((each) => isRecent(each, Date.now()));
  const pending = captures.activities.filter(({ entry, capture }) => stateOf(entry, capture) === 'pending');
  const running =
    downloads.filter(isActive).length + pending.length + commands.filter((each) => !hasEnded(each)).length;
  return (
    <>
      <button type="button" className="nav-secondary" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
        <IconActivity size={20} aria-hidden />
        <span>{t('nav.activity')}</span>
        {running === 0 ? null : <span className="nav-badge nav-badge-calm">{running}</span>}
      </button>
      {isOpen ? (
        <Suspense>
          <ActivityPanel
            downloads={downloads}
            captures={captures}
            commands={commands}
            onClear={clear}
            onClose={() => setIsOpen(false)}
          />
        </Suspense>
      ) : null}
    </>
  );
}
