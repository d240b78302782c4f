import type { Phrases } from './phrases.ts'

/** English with Arabic, as on menus in the Gulf states. */
export const arabic: Phrases = {
  offerings: [
    {
      ...{ category: 'dining', slug: 'friday-brunch', title: 'Friday Brunch · برنش الجمعة', pounds: 44, by: 'people' },
      summary: 'A long table of mezze, grills and sweets, every Friday from noon.',
      includes: ['Mezze & grills', 'Fresh juices', 'حلويات شرقية'],
    },
    {
      ...{ category: 'dining', slug: 'ghabga', title: 'Ghabga · غبقة رمضانية', pounds: 38, by: 'people' },
      summary: 'مائدة رمضانية بعد التراويح حتى السحور',
      includes: ['Ramadan drinks', 'Live machboos station'],
    },
    {
      ...{ category: 'dining', slug: 'pearl-divers-supper', pounds: 62.5 },
      title: "The Pearl Diver's Supper · عشاء الغواص",
      summary: 'The catch of the day over charcoal, with rice and dakkous.',
      includes: ['Five courses', 'Karak tea'],
    },
    {
      ...{ category: 'spa', slug: 'hammam', title: 'Hammam · حمّام تقليدي', pounds: 55 },
      summary: 'Steam, black soap and an hour of quiet.',
      includes: ['60 minutes', 'Mint tea'],
    },
    {
      ...{ category: 'stay', slug: 'seaside-night', pounds: 160, by: 'nights' },
      title: 'A Night by the Sea · ليلة على البحر',
      summary: 'A room with a balcony over the water, and breakfast.',
      includes: ['Room for two', 'Breakfast'],
    },
  ],
  themes: { '': '*', eid: '* (Eid · عيد)', family: '* (Family · عائلة)', midweek: '* (Midweek)' },
  cards: { 'gift-card': 'Gift Card · بطاقة هدية', 'eid-gift-card': 'Eid Gift Card · عيدية' },
  cardSummary: 'For everything on the menu. لكل ما في القائمة.',
  cardIncludes: ['Sent by e-mail or message', 'Spend it at once or bit by bit'],
  people: ['for one', 'for two', 'for four'],
  nights: ['one night', 'two nights', 'three nights'],
  terms: ['Please book ahead.', 'غير قابلة للاسترداد.', 'Service charge included.'],
  redemption: ['Show this voucher when you arrive.', 'يرجى إبراز القسيمة عند الوصول'],
  categories: {
    ...{ cards: 'Gift Cards · بطاقات', dining: 'Dining · مطاعم', spa: 'Wellness · عافية', stay: 'Stays · إقامة' },
    season: 'Season · الموسم',
  },
}
