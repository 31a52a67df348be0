import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PlaceTabs } from './place-tabs.tsx';
import './places.css';

interface PlacesLayoutProps {
  readonly title: string;
  /** The map, or the content beside the list. */
  readonly main: ReactNode;
  readonly children: ReactNode;
}

/** Shows a list or a form beside a map or other content; on a phone below it. */
export function PlacesLayout({ title, main, children }: PlacesLayoutProps) {
  const { t } = useTranslation('places');
  return (
    <div className="places-page">
      <section className="places-side" aria-label={title}>
        <h1>{t('title')}</h1>
        <PlaceTabs />
        {children}
      </section>
      {main}
    </div>
  );
}
