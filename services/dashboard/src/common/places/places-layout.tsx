import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { PlaceTabs } from './place-tabs.tsx';
import './places.css';

interface PlacesLayoutProps {
  readonly title: string;
  readonly map: ReactNode;
  readonly children: ReactNode;
}

/** Shows a list or a form beside a map; on a phone below it. */
export function PlacesLayout({ title, map, children }: PlacesLayoutProps) {
  const { t } = useTranslation('places');
  return (
    <div className="places-page">
      <section className="places-side" aria-label={title}>
        <h1>{t('title')}</h1>
        <PlaceTabs />
        {children}
      </section>
      {map}
    </div>
  );
}
