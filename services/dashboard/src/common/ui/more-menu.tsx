import { IconDots } from '@tabler/icons-react';
import { useRouter } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { hasRoute, pages } from '../commands/pages.ts';
import { useCan } from '../session/session-context.ts';

const MorePages = lazy(() => import('./more-pages.tsx').then((module) => ({ default: module.MorePages })));

/** Pages without an entry of their own in the navigation; on a phone the media too. */
const names = ['media', 'drivers', 'groups', 'geofences', 'routes', 'sharing', 'devices'] as const;
export type MorePage = (typeof names)[number];

/** Shows the entry of the navigation for further pages. The list is loaded when it is first opened. */
export function MoreMenu() {
  const { t } = useTranslation();
  const router = useRouter();
  const can = useCan();
  const [isWanted, setIsWanted] = useState(false);
  const visible = pages.flatMap((page) => {
    const name = names.find((each) => each === page.name);
    const isVisible = hasRoute(router.routesByPath, page.path) && (!('permission' in page) || can(page.permission));
    return name !== undefined && isVisible ? [{ name, path: page.path }] : [];
  });
  if (visible.length === 0) return null;
  const button = (
    <button type="button" aria-haspopup="menu" onClick={() => setIsWanted(true)}>
      <IconDots size={20} aria-hidden />
      <span>{t('nav.more')}</span>
    </button>
  );
  return <Suspense fallback={button}>{isWanted ? <MorePages pages={visible} target={button} /> : button}</Suspense>;
}
